#!/usr/bin/env bash
# Checks the clients of Python and TypeScript in addition to the tests of ./faults. It compares types with the document,
# compiles programs of version 0.1.0, and runs both languages' strictest checkers and a page in Chromium. With
# TEST_DEPTH=whole it measures the cost of a call next to a bare client. It compiles the TypeScript first; "compile" does only that, "types" writes its types.
# Skips with one line if a tool is missing. The Go client does not need this script.
set -euo pipefail
cd "$(dirname "$0")"
export NO_UPDATE_NOTIFIER=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 PYRIGHT_PYTHON_IGNORE_WARNINGS=1 PYTHONDONTWRITEBYTECODE=1

skip() {
  echo "skipped: $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip 'the client in TypeScript, because there is no Node'
node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' || skip "the client in TypeScript, because Node $(node --version) is older than 20"

# npm writes this file last, so that an interrupted install is made again.
tools() {
  [ -e "$1/node_modules/.package-lock.json" ] && [ ! "$1/package-lock.json" -nt "$1/node_modules/.package-lock.json" ] && return
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) || { [ -n "${CI:-}" ] && exit 1; skip "the tools of clients/$1, because npm cannot install them"; }
}
types() {
  typescript/node_modules/.bin/openapi-typescript ../wire/openapi/openapi.json --output "$1" >/dev/null
}

tools typescript
if [ "${1:-}" = types ]; then
  types typescript/src/api.ts
  exit
fi
(cd typescript && node_modules/.bin/tsc)
[ "${1:-}" != compile ] || exit 0

work=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

types "$work/api.ts"
cmp -s "$work/api.ts" typescript/src/api.ts || { echo 'typescript/src/api.ts is not of the document: run make generate' >&2; exit 1; }
(cd typescript && node_modules/.bin/tsc --project tsconfig.check.json)
echo 'the types of TypeScript are those of the document, and programs of 0.1.0 compile'
if command -v python3 >/dev/null; then
  tools python/checker
  python/checker/node_modules/.bin/pyright --project python/pyproject.toml
fi

(cd .. && CGO_ENABLED=0 "${GO:-go}" build -trimpath -buildvcs=false -o "$work/ninepocket" ./cmd/ninepocket)
"$work/ninepocket" demo --cards 2000 --listen 127.0.0.1:0 --admin 127.0.0.1:0 --ready-file "$work/demo.json" >"$work/demo.log" 2>&1 &
server=$!
for _ in $(seq 150); do
  [ -s "$work/demo.json" ] && break
  kill -0 $server 2>/dev/null || break
  sleep 0.2
done
[ -s "$work/demo.json" ] || { cat "$work/demo.log"; exit 1; }
API=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).api' "$work/demo.json")
KEY=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).keys.bench' "$work/demo.json")
export API KEY

# Times are compared where the machine has nothing else to do.
if [ "${TEST_DEPTH:-}" = whole ]; then
  (cd typescript && node bench.js --check)
  if command -v python3 >/dev/null; then (cd python && python3 bench.py --check); fi
fi

chromium=
for name in "${CHROMIUM:-chromium}" chromium-browser google-chrome; do
  chromium=$(command -v "$name") && break
done
[ -n "$chromium" ] || skip 'the client in a page, because there is no Chromium'
tools ../site/browser
cd typescript
NINEPOCKET=$work/ninepocket CHROMIUM=$chromium node --test --test-reporter=spec browser.test.mjs
