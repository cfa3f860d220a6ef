#!/usr/bin/env bash
# The public pages in a real browser: Chromium over a server of the demo catalog, with clicks, keys, no script, narrow
# screens and an accessibility checker. Skips with one line where Node or Chromium is missing; never downloads a browser.
# SHOTS=DIR keeps screenshots of every page there.
set -euo pipefail
cd "$(dirname "$0")"
export NO_UPDATE_NOTIFIER=1 PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1

skip() {
  echo "skipped: the browser tests, because $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node'
node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' || skip "Node $(node --version) is older than 20"
chromium=
for name in "${CHROMIUM:-chromium}" chromium-browser google-chrome; do
  chromium=$(command -v "$name") && break
done
[ -n "$chromium" ] || skip 'there is no Chromium'

# npm writes this file last, so that an interrupted install is made again.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error || { [ -n "${CI:-}" ] && exit 1; skip 'npm cannot install their tools'; }
fi

work=$(mktemp -d)
server=
cleanup() {
  [ -z "$server" ] || kill "$server" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

(cd ../.. && CGO_ENABLED=0 "${GO:-go}" build -o "$work/ninepocket" ./cmd/ninepocket)
"$work/ninepocket" demo --listen 127.0.0.1:0 --admin 127.0.0.1:0 --cards 2000 --ready-file "$work/ready.json" >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 300); do
  [ -s "$work/ready.json" ] && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.2
done
[ -s "$work/ready.json" ] || { cat "$work/server.log"; exit 1; }
BASE=$(node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).api' "$work/ready.json") CHROMIUM=$chromium \
  node --test --test-concurrency=1 --test-reporter=spec site.test.mjs || { tail -n 5 "$work/server.log"; exit 1; }
