#!/usr/bin/env bash
# Reads the bulk files of a demo server with DuckDB, and runs the query of docs/CLIENTS.md as it is printed there. Skips with
# one line where Node is missing.
set -euo pipefail
cd "$(dirname "$0")"
export CI=${CI:-true} NO_UPDATE_NOTIFIER=1

skip() {
  echo "skipped: DuckDB over the bulk files, because $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node'

# npm writes this file last, so that an interrupted install is made again.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi

work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
(cd ../.. && CGO_ENABLED=0 "${GO:-go}" build -trimpath -buildvcs=false -o "$work/ninepocket" ./cmd/ninepocket)
"$work/ninepocket" demo --cards 600 --listen 127.0.0.1:0 --admin 127.0.0.1:0 --ready-file "$work/ready.json" \
  >"$work/log" 2>&1 &
server=$!
for _ in $(seq 300); do
  [ -e "$work/ready.json" ] && break
  kill -0 "$server" || { cat "$work/log"; exit 1; }
  sleep 0.1
done

awk '/^```sql$/ { inside = 1; next } /^```$/ { inside = 0 } inside' ../../docs/CLIENTS.md >"$work/query.sql"
grep -q history.csv.zst "$work/query.sql" # the guide has its query
script=$PWD/query.mjs
cd "$work" && node "$script" ready.json query.sql
