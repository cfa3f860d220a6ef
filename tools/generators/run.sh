#!/usr/bin/env bash
# Makes clients from the documents of a running server of the demo catalog with the usual generators, compiles them
# strictly, and calls every operation with each. Skips the generators of Node if Node is missing or too old. See README.md.
set -euo pipefail
cd "$(dirname "$0")"
export CI=${CI:-true} NO_UPDATE_NOTIFIER=1
go=${GO:-go}

work=$(mktemp -d)
pid=
cleanup() {
  [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

rm -rf generated ogen/live ogen/preview
mkdir generated
(cd ../.. && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o "$work/ninepocket" ./cmd/ninepocket)
"$work/ninepocket" demo --listen 127.0.0.1:0 --admin 127.0.0.1:0 --cards 300 --ready-file generated/ready.json >"$work/server.log" 2>&1 &
pid=$!
for _ in $(seq 300); do
  [ -s generated/ready.json ] && break
  kill -0 "$pid" 2>/dev/null || break
  sleep 0.2
done
[ -s generated/ready.json ] || { cat "$work/server.log"; exit 1; }
"$go" run documents.go generated/ready.json generated

echo '== ogen'
(
  cd ogen
  for document in live preview; do
    "$go" tool ogen --target "$document" --package "$document" --clean "../generated/$document.json" >"$work/ogen.log" 2>&1 ||
      { cat "$work/ogen.log"; exit 1; }
    if grep 'Skipping' "$work/ogen.log"; then
      echo "ogen leaves out a part of the document of $document" >&2
      exit 1
    fi
  done
  "$go" vet -tags generated ./...
  "$go" test -count=1 -tags generated .
)

skip() {
  echo "skipped: the generators of TypeScript, because $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node'
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  skip "Node $(node --version) is older than 20.19"

# npm writes this file last, so that an interrupted install is made again.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
for document in whole live preview; do
  echo "== $document: openapi-typescript, hey-api, orval"
  out=generated/$document
  mkdir "$out"
  node_modules/.bin/openapi-typescript "generated/$document.json" --output "$out/types.ts" >/dev/null
  cp fetch.ts "$out/fetch.ts"
  node_modules/.bin/openapi-ts --input "./generated/$document.json" --output "$out/hey" \
    --plugins @hey-api/client-fetch @hey-api/typescript @hey-api/sdk --no-log-file --silent
  node_modules/.bin/orval --input "generated/$document.json" --output "$out/orval.ts" --client fetch --mode single >"$work/orval.log" 2>&1 || { cat "$work/orval.log"; exit 1; }
done
echo '{"type": "commonjs"}' >generated/package.json
node_modules/.bin/tsc --project tsconfig.json
node_modules/.bin/tsc --project tsconfig.hey.json
for document in whole live preview; do node call.mjs "$document"; done
