#!/usr/bin/env bash
# The public pages in a real browser: Chromium over a server of the demo catalog, with clicks, keys, no script, narrow
# screens and an accessibility checker. Skips with one line where Node or Chromium is missing; never downloads a browser.
# Of the charts, errands and ways back it does a sample; TEST_DEPTH=whole does all. "errands" does all of the last
# two, also on the real catalog where that is next to the repository. shots.mjs takes pictures of every kind of page
# into SHOTS=DIR, of both; lighthouse runs Lighthouse. The name of another script runs that one in place of the tests.
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
tools() {
  [ -e "$1/node_modules/.package-lock.json" ] && [ ! "$1/package-lock.json" -nt "$1/node_modules/.package-lock.json" ] && return
  (cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) || { [ -n "${CI:-}" ] && exit 1; skip 'npm cannot install their tools'; }
}
script=${1:-}
if [ "$script" = lighthouse ]; then tools ../lighthouse; else tools .; fi

work=$(mktemp -d)
servers=()
cleanup() {
  [ "${#servers[@]}" = 0 ] || kill "${servers[@]}" 2>/dev/null || true
  rm -rf "$work"
}
trap cleanup EXIT

(cd ../.. && CGO_ENABLED=0 "${GO:-go}" build -trimpath -buildvcs=false -o "$work/ninepocket" ./cmd/ninepocket)

# start NAME COMMAND… starts a server that writes NAME.json once it answers, and sets BASE and KEY to reach it by.
start() {
  local name=$1
  shift
  "$work/ninepocket" "$@" --listen 127.0.0.1:0 --admin 127.0.0.1:0 --ready-file "$work/$name.json" >"$work/$name.log" 2>&1 &
  servers+=($!)
  for _ in $(seq 300); do
    [ -s "$work/$name.json" ] && break
    kill -0 $! 2>/dev/null || break
    sleep 0.2
  done
  [ -s "$work/$name.json" ] || { cat "$work/$name.log"; exit 1; }
  ready() { node -p "JSON.parse(require('fs').readFileSync(process.argv[1])).$1 ?? ''" "$work/$name.json"; }
  BASE=$(ready api)
  KEY=$(ready keys?.pro)
  export BASE KEY CHROMIUM=$chromium
}

# real starts a server of the real catalog with its history, or says that it is not there.
real() {
  local data=${DATA:-../../../shared/data} prices=()
  local tree=$data/tcgcsv/tcgplayer-current.tar.zst
  [ -e "$tree" ] || { echo "skipped: the real catalog, which is not beside the repository"; exit 0; }
  for file in "$data"/price-history/*daily*productId.csv.zst "$data"/price-history/*sealed*productId.csv.zst; do
    if [ -e "$file" ]; then prices+=(--prices "tcgcsv:$file"); fi
  done
  {
    "$work/ninepocket" mapping suggest --source "tcgcsv:$tree" --into "$work/mapping"
    "$work/ninepocket" snapshot build --store "$work/store" --mapping "$work/mapping" --collected-at 2026-08-22T20:05:00Z --source "tcgcsv:$tree" "${prices[@]}" --publish
  } >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
  key=$("$work/ninepocket" keys create --state "$work/state" --tenant shots --plan business 2>/dev/null)
  start real serve --store "$work/store" --state "$work/state"
  export KEY=$key
}

run() { node --test --test-concurrency=1 --test-reporter=spec "$@"; }

start demo demo --cards 2000
case $script in
errands)
  export TEST_DEPTH=whole
  run errands.test.mjs return.test.mjs
  real
  NAME=real run errands.test.mjs return.test.mjs
  ;;
lighthouse) (cd ../lighthouse && node pages.mjs) ;;
shots.mjs)
  NAME=demo node shots.mjs
  real
  NAME=real node shots.mjs
  PICTURES=$work/pictures node pictures.mjs
  kill "${servers[-1]}"; wait "${servers[-1]}" 2>/dev/null || true
  start pictures serve --store "$work/store" --state "$work/state" --images "$work/pictures"
  NAME=pictures node shots.mjs
  ;;
*) run ${script:-site.test.mjs errands.test.mjs return.test.mjs} || { tail -n 5 "$work/demo.log"; exit 1; } ;; # one or three
esac
