#!/usr/bin/env bash
# Builds the release of the checked-out commit into a folder: build.sh DIST, with VERSION, PLATFORMS ("linux/amd64 …") and
# SIGN_KEY (a private key of OpenSSH, or nothing for an unsigned release) in the environment. PARTS ("deb python typescript")
# leaves packages out, and GO_VERSION=1.27.0 takes another compiler. Equal commits and compilers make equal bytes.
set -euo pipefail
umask 022
mkdir -p "${1:?usage: build.sh DIST}"
dist=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
GO=${GO:-go} platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64} key=${SIGN_KEY:-}
version=${VERSION:?say which: make release VERSION=0.1.0}
version=${version#v}

# The number stands in one place, the changelog; a tag or a VERSION that differs is a mistake.
newest=$(sed -n 's/^## \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -1)
if [ "$version" != "$newest" ]; then
  echo "release: cannot build $version: the newest heading of CHANGELOG.md is [$newest]" >&2
  exit 2
fi
if [ -n "$key" ] && [ ! -r "$key" ]; then
  echo "release: cannot sign: there is no key $key; make one: ssh-keygen -t ed25519 -f $key" >&2
  exit 2
fi

# Bytes depend on the compiler, patch level included: the toolchain is fetched where another one is installed.
wanted=go${GO_VERSION:-$(cat tools/release/go-version)}
export GOTOOLCHAIN=$wanted GOEXPERIMENT='' GOFIPS140=off GOAMD64=v1 GOARM64=v8.0 GOFLAGS="-trimpath -buildvcs=false" GOWORK=off
compiler=$("$GO" env GOVERSION GOEXPERIMENT | xargs) || compiler='the installed Go'
if [ "$compiler" != "$wanted" ]; then
  echo "release: cannot build with $compiler: want $wanted of tools/release/go-version, without experiments" >&2
  echo "hint: install it, let go fetch it, or take another one: make release GO_VERSION=1.27.0" >&2
  exit 2
fi

# Every tool that is missing is named before anything is built.
export PARTS=${PARTS-deb python typescript}
missing=
for part in $PARTS; do
  case $part in
  deb)
    [[ $platforms == *linux/* ]] || continue
    tool=dpkg-deb
    ;;
  python) tool=python3 ;;
  typescript) tool=npm ;;
  *) tool="a part $part" ;;
  esac
  command -v "$tool" >/dev/null || missing+="${missing:+, }$tool"
done
if [ -n "$missing" ]; then
  echo "release: cannot build all parts: there is no $missing" >&2
  echo "hint: install it, or name the parts that you want: make release PARTS='deb python typescript'" >&2
  exit 2
fi

# A folder of an earlier release is emptied at the end. Other files are not ours to remove.
ours=$(cut -c67- "$dist/SHA256SUMS" 2>/dev/null || true)
foreign=$(find "$dist" -mindepth 1 -maxdepth 1 -printf '%f\n' | grep -vxF -e SHA256SUMS -e SHA256SUMS.sig \
  -e ninepocket.signers -e "$ours" || true)
if [ -n "$foreign" ]; then
  echo "release: cannot write into $dist: it has files of no release: $(xargs <<<"$foreign")" >&2
  echo 'hint: remove them, or name an empty folder' >&2
  exit 2
fi
[ -z "$(git status --porcelain)" ] || echo 'note: the release is that of the commit; what is not committed is not in it'

# The sources are those of the commit, whatever lies about in this folder.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
src=$work/src made=$work/made
mkdir "$src" "$made"
git archive HEAD | tar -x -C "$src"
commit=$(git log -1 --format=%H)
committed=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%d)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C CGO_ENABLED=0

# packed ARCHIVE FOLDER NAME: a tar of NAME below FOLDER in which neither a user, a clock nor a folder's order shows.
packed() {
  tar -C "$2" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX -cf - "$3" | gzip -6n >"$1"
}

cd "$src"
mkdir -p dist
"$GO" run -tags man -ldflags "-X main.linked=$version" ./cmd/ninepocket dist/man
make -s completions GO="$GO" >/dev/null
for platform in $platforms; do
  os=${platform%/*} arch=${platform#*/}
  name=ninepocket-$version-$os-$arch binary=$work/$os-$arch/ninepocket
  GOOS=$os GOARCH=$arch "$GO" build \
    -ldflags "-s -w -X main.linked=$version -X main.commit=$commit -X main.committed=$committed" \
    -o "$binary" ./cmd/ninepocket
  "$GO" run ./deploy/bom -binary "$binary" -version "$version" -sbom "$made/$name.cdx.json"

  make -s install-files BINARY="$binary" DESTDIR="$work/$name.root" PREFIX=/usr/local >/dev/null
  mv "$work/$name.root/usr/local" "$work/$name"
  if [ "$os" = darwin ]; then rm -r "${work:?}/$name/lib"; fi # the units of systemd
  packed "$made/$name.tar.gz" "$work" "$name"
  echo "built $name.tar.gz"
  if [ "$os" = linux ] && [[ " $PARTS " == *' deb '* ]]; then
    deploy/deb/pack.sh "$binary" "$version" "$arch" "$made"
  fi
done

# The compiler of TypeScript comes from the lock file, as in make clients-check.
if [[ " $PARTS " == *' typescript '* ]]; then
  npm ci --prefix clients/typescript --silent --ignore-scripts --no-audit --no-fund >/dev/null
fi
clients/pack.sh "$made"
find "$made" -mindepth 1 -maxdepth 1 -type d -exec rm -r {} + # what the archive of Go was packed from

# The signed sums cover every file. A verifier names the signer "ninepocket".
cd "$made"
find . -maxdepth 1 -type f -printf '%f\n' | sort | xargs sha256sum >"$work/SHA256SUMS"
mv "$work/SHA256SUMS" SHA256SUMS
if [ -n "$key" ]; then
  ssh-keygen -q -Y sign -f "$key" -n ninepocket SHA256SUMS
  printf 'ninepocket namespaces="ninepocket" %s\n' "$(ssh-keygen -y -f "$key" | cut -d' ' -f1,2)" >ninepocket.signers
else
  echo 'note: the release is not signed: SIGN_KEY=FILE names a key of ssh-keygen'
fi
chmod 644 ./*
find "$dist" -mindepth 1 -maxdepth 1 -type f -delete
mv SHA256SUMS "$dist/" # first: a folder that was left half-full is known as a release's
mv ./* "$dist/"
echo "the release is in $dist, built by $compiler"
