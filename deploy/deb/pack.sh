#!/usr/bin/env bash
# Packs a binary with units, manual pages and a configuration for Debian: pack.sh BINARY VERSION ARCH DIST, at the top of the
# sources, after make man and make completions. SOURCE_DATE_EPOCH is the time of all files.
set -euo pipefail
umask 022
binary=$1 version=$2 arch=$3 dist=$4
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"

make -s install-files BINARY="$binary" DESTDIR="$root" PREFIX=/usr >/dev/null
mv "$root/usr/share/zsh/site-functions" "$root/usr/share/zsh/vendor-completions"
find "$root/usr/share/man" -name '*.1' -exec gzip -9n {} +
cp LICENSE "$root/usr/share/doc/ninepocket/copyright"
install -D -m 0644 deploy/deb/ninepocket.toml "$root/etc/ninepocket/ninepocket.toml"
install -D -m 0644 -t "$root/usr/share/ninepocket" deploy/systemd/before-253.conf

mkdir "$root/DEBIAN"
# A tilde sorts before everything: 0.1.0~rc.1 comes before 0.1.0.
sed -e "s/@VERSION@/${version//-/\~}/" -e "s/@ARCH@/$arch/" \
  -e "s/@SIZE@/$(find "$root/usr" "$root/etc" -type f -printf '%s\n' | awk '{ n += $1 } END { print int(n / 1024) }')/" \
  deploy/deb/control >"$root/DEBIAN/control"
echo /etc/ninepocket/ninepocket.toml >"$root/DEBIAN/conffiles"
install -m 0755 -t "$root/DEBIAN" deploy/deb/postinst deploy/deb/prerm deploy/deb/postrm
(cd "$root" && find usr etc -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)

package=$dist/ninepocket_${version}_$arch.deb
dpkg-deb --root-owner-group -Zgzip -z6 --build "$root" "$package" >/dev/null
echo "built ${package##*/}"
