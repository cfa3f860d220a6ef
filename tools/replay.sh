#!/usr/bin/env bash
# Builds the program of another revision and asks it and this one the same requests: tools/replay.sh REV [EXPECTED].
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} base=${1:-} expected=${2:-}
if [ -z "$base" ]; then
  echo 'replay: BASE names the revision whose answers hold, such as make replay BASE=v0.1.0' >&2
  exit 2
fi

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"
(cd "$work/base" && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o "$work/old" ./cmd/ninepocket)
# Both without a version, which some answers have.
CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o "$work/new" ./cmd/ninepocket
"$go" -C tools run ./replay -old "$work/old" -new "$work/new" -expected "$expected"
