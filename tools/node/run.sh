#!/usr/bin/env bash
# Lints the OpenAPI document with two independent linters: the file, the served document, and that of each surface. Then
# it generates types from each, and compiles client.ts, surfaces.ts and the program of docs/GUIDE.md against them. Other
# generators are in ../generators. Skips where Node is missing or too old.
set -euo pipefail
cd "$(dirname "$0")"
export CI=${CI:-true} REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true NO_UPDATE_NOTIFIER=1

skip() {
  echo "skipped: the OpenAPI linters, because $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node'
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  skip "Node $(node --version) is older than 20.19"

# npm writes this file last, so that an interrupted install is made again.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi

mkdir -p generated
rm -rf generated/*
(cd ../.. && OPENAPI_OUT="$PWD/tools/node/generated" "${GO:-go}" test -count=1 -run '^TestRenderings$' ./wire/openapi)

for document in generated/*.json; do
  echo "redocly $document"
  node_modules/.bin/redocly lint --config lint-redocly.yaml --format stylish "$document" 2>generated/redocly.log || { cat generated/redocly.log; exit 1; }
done
echo 'spectral generated/*.json'
node_modules/.bin/spectral lint --ruleset lint-spectral.yaml --fail-severity hint generated/*.json
echo 'openapi-typescript, tsc'
for document in generated/*.json; do node_modules/.bin/openapi-typescript "$document" --output "${document%.json}.d.ts" >/dev/null; done
{
  echo 'declare const process: { env: Record<string, string | undefined> };'
  awk '/^```ts$/ { inside = 1; next } /^```$/ { inside = 0 } inside' ../../docs/GUIDE.md
  # Its own type must be a part of the document's.
  echo 'import type { paths } from "./openapi-live.js";'
  echo 'type Listed = paths["/v1/cards"]["get"]["responses"][200]["content"]["application/json"]["data"][number];'
  echo 'export const fits = (card: Listed): Card => card;'
} >generated/guide.mts
grep -q 'await fetch' generated/guide.mts # the guide has its program
node_modules/.bin/tsc --project tsconfig.json
echo 'the OpenAPI document is clean'
