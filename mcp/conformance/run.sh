#!/usr/bin/env bash
# Real MCP clients against a server of the demo catalog: the official conformance suites, the Inspector's strict lint,
# two TypeScript clients and the Go SDK. Skips with one line where Node is missing. See README.md.
set -euo pipefail
cd "$(dirname "$0")"
export CI=${CI:-true} NO_UPDATE_NOTIFIER=1

skip() {
  echo "skipped: MCP conformance, because $1"
  exit 0
}
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node'

# npm writes this file last, so that an interrupted install is made again.
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
# The suite needs Node 22. The package of that name fetches its program in an install script, the only one allowed.
node22=node
if ! node -e 'process.exit(process.versions.node.split(".")[0] >= 22 ? 0 : 1)'; then
  [ -x node_modules/node/bin/node ] || npm rebuild node --loglevel=error >/dev/null || skip 'Node 22 cannot be installed'
  node22=$PWD/node_modules/node/bin/node
fi

work=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  rm -rf "$work"
}
trap cleanup EXIT

(cd ../.. && CGO_ENABLED=0 "${GO:-go}" build -trimpath -buildvcs=false -tags conformance -o "$work/ninepocket" ./cmd/ninepocket)
"$work/ninepocket" demo --listen 127.0.0.1:0 --admin 127.0.0.1:0 --cards 2000 --ready-file "$work/ready.json" >"$work/server.log" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
  [ -s "$work/ready.json" ] && break
  kill -0 "${pids[0]}" 2>/dev/null || break
  sleep 0.2
done
[ -s "$work/ready.json" ] || { cat "$work/server.log"; exit 1; }
read -r api mcp key < <(node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])); console.log(r.api, r.mcp, r.keys.bench)' "$work/ready.json")

echo '== TypeScript and Go clients'
"$node22" client.ts "$mcp" "$key"
"$node22" client2.ts "$mcp" "$key"
(cd ../../tools && "${GO:-go}" build -o "$work/mcpclient" ./mcpclient)
"$work/mcpclient" "$mcp" "$key"

echo '== Inspector, strict lint'
"$node22" node_modules/.bin/mcp-inspector --cli "$mcp" --transport http --header "Authorization: Bearer $key" \
  --method tools/list --strict >"$work/lint.json" 2>"$work/lint.log" || { cat "$work/lint.json" "$work/lint.log"; exit 1; }
# A finding that is no error does not fail it by itself. Only the set and the number of a line have two types.
if grep 'Path:' "$work/lint.log" | grep -qv 'items\.anyOf\[1\]\.properties\.\(set\|number\)$'; then
  cat "$work/lint.log"
  exit 1
fi
echo 'no finding but the two types of set and number'

"$node22" forward.mjs "$api" "$key" >"$work/forward" &
pids+=($!)
for _ in $(seq 300); do [ -s "$work/forward" ] && break; sleep 0.2; done
[ -s "$work/forward" ] || { echo 'forward.mjs does not begin to listen' >&2; exit 1; }
suite() { "$node22" "node_modules/@modelcontextprotocol/$1/dist/index.js" server --url "$(cat "$work/forward")/mcp" --suite all "${@:2}"; }

echo '== Conformance suite of 2025-06-18 and 2025-11-25'
suite conformance --expected-failures baseline.yml --output-dir "$work/older" >"$work/suite.log" 2>&1 || { cat "$work/suite.log"; exit 1; }
sed -n '/=== SUMMARY ===/,/^Total/p' "$work/suite.log"

# It ends with a failure while any check fails: judge.mjs knows which ones must.
echo '== Conformance suite of 2026-07-28'
suite conformance-2026 --spec-version 2026-07-28 --output-dir "$work/modern" >"$work/suite.log" 2>&1 || true
"$node22" judge.mjs "$work/modern" expected-2026.txt || { cat "$work/suite.log"; exit 1; }
