#!/usr/bin/env bash
# Runs every fuzz target of the module: first the seeds and kept findings, then each target for FUZZTIME
# (Go's -fuzztime: a duration or a count like 1000000x; 0 stops after the seeds). FUZZ is a regular expression
# over target names. Findings are written to testdata/fuzz of their package: commit them.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} fuzztime=${FUZZTIME:-10s} pattern=${FUZZ:-.}

# `go test -list` prints the names of a package's targets, then a line that names the package.
listing=$("$go" test -list '^Fuzz' ./...) || { echo "$listing" >&2; exit 1; }
targets=$(awk -v pattern="$pattern" '/^Fuzz/ && $1 ~ pattern { names[++n] = $1 }
  /^ok/ { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }' <<<"$listing")
if [ -z "$targets" ]; then
  echo "no fuzz target matches '$pattern'"
  exit 0
fi

echo "seeds of $(wc -l <<<"$targets") fuzz targets"
packages=$(cut -d' ' -f1 <<<"$targets" | sort -u)
names=$(cut -d' ' -f2 <<<"$targets" | sort -u | paste -sd'|')
# shellcheck disable=SC2086 # one argument per package
"$go" test -count=1 -timeout 10m -run "^($names)\$" $packages
[ "$fuzztime" != 0 ] || exit 0

failed=0
while read -r package name; do
  echo "fuzz $name in $package for $fuzztime"
  "$go" test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" -timeout 0 "$package" || failed=$((failed + 1))
done <<<"$targets"
if [ "$failed" != 0 ]; then
  echo "$failed fuzz targets failed" >&2
  exit 1
fi
