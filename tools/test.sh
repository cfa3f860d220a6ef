#!/usr/bin/env bash
# Runs tests in random order, with the race detector where it can be built: test.sh PACKAGES NAMES,
# as in test.sh ./... . for all of them. It reports each skipped test in one line, with the reason.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=${1:-./...} names=${2:-.} GO=${GO:-go} data=${DATA:-../shared/data} limit=${TEST_TIMEOUT:-15m}
whole=
if [ "$packages $names" = './... .' ]; then whole=yes; fi

# has PROGRAM: whether it is there, also where administrators' programs and those of Go are.
has() { PATH=$PATH:/usr/sbin:$HOME/go/bin command -v "$1" >/dev/null; }

# The race detector needs a C compiler and the C library's headers.
race=-race
if printf '#include <stdlib.h>\nint main(void) { return 0; }\n' | "$($GO env CC)" -x c -o /dev/null - >/dev/null 2>&1; then
  export CGO_ENABLED=1
else
  race=
  echo 'skipped: the race detector, because there is no C compiler'
fi
[ -d "$data" ] || echo "skipped: tests over the real catalogs, because there is no $data (see make data)"
for proxy in nginx haproxy; do
  has $proxy || echo "skipped: hostile requests behind $proxy, because it is not installed"
done
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || has initdb ||
  echo 'skipped: what many servers share, because PostgreSQL is not installed'
has versitygw || echo 'skipped: publications in a real S3-compatible store, because versitygw is not installed'

# Tests write thousands of small files, which a disk takes a fifth of their time for. They go into
# memory where there is enough of it and programs may run there; TMPDIR=DIR says otherwise.
memory=/dev/shm enough=$((4 << 20)) # KiB; all tests together take 0.6 GiB
if [ -z "${TMPDIR:-}" ] && [ -w $memory ] && [ "$(df -kP $memory | awk 'NR == 2 { print $4 }')" -gt $enough ] &&
  [ "$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)" -gt $enough ]; then
  scratch=$(mktemp -d $memory/ninepocket-test-XXXXXX)
  trap 'rm -rf "$scratch"' EXIT
  chmod 755 "$scratch" # PostgreSQL runs as a user of its own

  printf '#!/bin/sh\n' >"$scratch/may-run"
  chmod 755 "$scratch/may-run"
  if "$scratch/may-run" 2>/dev/null; then export TMPDIR=$scratch; fi
fi

# Test programs are stored, because linking fifty of them takes as long as the tests of the largest
# package: go test links only the changed ones again. The program of this folder has the same
# name as that of cmd/ninepocket, so it gets another folder.
programs=bin/tests
mkdir -p $programs/house $programs/plain
export TEST_PROGRAMS=$PWD/$programs/plain # the command without the race detector, which its tests build
run() { (set -x; $GO test -shuffle=on $race -timeout "$limit" -run "$names" "$@"); }
if [ -z "$whole" ]; then
  # shellcheck disable=SC2086 # packages are words
  run $packages
  exit
fi

# One package more than processors at a time, and more tests of each side by side: they wait for
# disks, clocks and other processes. Packages that take longest begin first, so that none of them is
# left over at the end.
processors=$(getconf _NPROCESSORS_ONLN)
side=$((processors + 1))
others=$($GO list ./... | tail -n +2)
(run -o $programs/house/ . && $GO -C tools test ./measure ./prose) &
house=$!
failed=
# shellcheck disable=SC2086 # packages are words
run -o $programs/ -p $side -parallel $((2 * processors)) ./cmd/ninepocket ./server ./access $others || failed=yes
wait $house || failed=yes
[ -z "$failed" ]
