#!/usr/bin/env bash
# Packs the clients into DIST, without a network: a folder and an archive of the Go module, a wheel and an sdist for Python,
# and a package for npm. A language whose tools are absent is skipped with one line, and so is one that PARTS leaves out.
set -euo pipefail
mkdir -p "${1:?usage: pack.sh DIST}"
dist=$(cd "$1" && pwd)
cd "$(dirname "$0")"
go=${GO:-go} parts=" ${PARTS-python typescript} "

version=$(sed -n 's/^const Version = "\(.*\)"$/\1/p' go/client.go)
name=ninepocket-go-$version
rm -rf "${dist:?}/$name"
mkdir "$dist/$name"
cp go/*.go go/go.mod go/README.md ../LICENSE "$dist/$name"
rm -f "$dist/$name"/*_test.go
cp -r go/internal go/examples "$dist/$name"
# Outside of the repository it has nothing but the standard library.
(cd "$dist/$name" && GOWORK=off GOFLAGS=-mod=mod GOPROXY=off "$go" vet ./...)
tar -C "$dist" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -czf "$dist/$name.tar.gz" "$name"
echo "packed $name.tar.gz"

if [[ $parts != *' python '* ]]; then
  echo 'skipped: the Python client, because PARTS leaves it out'
elif command -v python3 >/dev/null; then
  python3 python/packing.py "$dist"
else
  echo 'skipped: the Python client, because there is no python3'
fi
# Its compiler is installed by `make clients-check`, or by `npm ci` in its folder.
if [[ $parts != *' typescript '* ]]; then
  echo 'skipped: the TypeScript client, because PARTS leaves it out'
elif [ -e typescript/node_modules/.package-lock.json ] && command -v npm >/dev/null; then
  cp ../LICENSE typescript/LICENSE
  (cd typescript && node_modules/.bin/tsc && npm pack --silent --ignore-scripts --pack-destination "$dist")
else
  echo 'skipped: the TypeScript client, because its compiler is not installed (once: npm ci --prefix clients/typescript) or there is no npm'
fi
