#!/usr/bin/env bash
# Fetches the API reference's program, Scalar's standalone build, from the npm registry and puts it, compressed, where
# package site embeds it. To take another version, change the two lines below, run this, and run the browser tests.
set -euo pipefail
cd "$(dirname "$0")"
version=1.72.1
sha256=bf091006bdc3af6067af77c2f534812e3e633e94a94e87138069f570f33b762c # of standalone.js

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$work" && npm pack --silent "@scalar/api-reference@$version" >/dev/null && tar -xzf ./*.tgz)
script=$work/package/dist/browser/standalone.js
echo "$sha256  $script" | sha256sum --check --quiet
license=$(sed -n 's/^ *"license": *"\(.*\)",*$/\1/p' "$work/package/package.json")
[ "$license" = MIT ] || { echo "the licence is $license now, not MIT" >&2; exit 1; }
gzip -9 -n -c "$script" >../../site/assets/scalar.js.gz
ls -l ../../site/assets/scalar.js.gz
