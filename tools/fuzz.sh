#!/usr/bin/env bash
# Runs every fuzz target of the module: first the seeds and stored findings, then each target for FUZZTIME.
# FUZZTIME is a duration or a count like 1000000x, as in Go's -fuzztime; 0 stops after the seeds. FUZZ is a
# regular expression over target names. A target that fails does not stop the others. The end lists the
# executions of each target and the command that continues the failed targets. Findings are written to testdata/fuzz of their package: commit
# them. New inputs stay in Go's cache, so that a later run begins where this one ended.
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
count=$(wc -l <<<"$targets")

echo "seeds of $count fuzz targets"
packages=$(cut -d' ' -f1 <<<"$targets" | sort -u)
names=$(cut -d' ' -f2 <<<"$targets" | sort -u | paste -sd'|')
# shellcheck disable=SC2086 # one argument per package
"$go" test -count=1 -timeout 10m -run "^($names)\$" $packages
[ "$fuzztime" != 0 ] || exit 0

# `go test -fuzz` instruments the standard library and every dependency too, and after each execution clears and compares
# all of their counters: 200,000 of them under ./server, which takes ten times as long as most executions. These are the
# packages whose branches are worth new inputs: our own, and the parsers that get a client's bytes before we do.
instrument=-d=libfuzzer
flags=("-gcflags=$("$go" list -m)/...=$instrument")
for parser in github.com/valyala/fasthttp github.com/go-json-experiment/json/...; do
  flags+=("-gcflags=$parser=$instrument")
done

built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
binary=$built/package.test log=$built/log cache=$("$go" env GOCACHE)/fuzz

# fuzz PACKAGE NAME runs a target in the folder of its package. The engine reports every three seconds; one line in ten
# of those is progress enough.
fuzz() {
  "$binary" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "$fuzztime" -test.fuzzminimizetime 100x -test.fuzzcachedir "$cache/$1" \
    -test.timeout 0 </dev/null 2>&1 | tee "$log" | awk '!/^fuzz: elapsed/ || ++n % 10 == 0 { print; fflush() }'
}

# starved NAME reports whether the machine was the cause of a failure. The engine ends a worker that takes ten seconds over one
# input and calls it hung, also one that was not given a processor for so long; then the input passes when it has one.
starved() {
  local finding
  grep -q 'hung or terminated unexpectedly' "$log" || return 1
  "$binary" -test.run "^$1\$" -test.timeout 1m >/dev/null 2>&1 || return 1
  finding=$(sed -n 's/.*Failing input written to //p' "$log")
  [ -z "$finding" ] || rm "$finding"
}

last='' at=0 failed=() reached=()
while read -r package name; do
  at=$((at + 1)) began=$SECONDS result=ok
  echo "[$at/$count] fuzz $name in $package for $fuzztime"
  pushd "$("$go" list -f '{{.Dir}}' "$package")" >/dev/null
  if [ "$package" != "$last" ]; then
    rm -f "$binary"
    "$go" test -c "${flags[@]}" -o "$binary" . || true # without it the target fails
    last=$package
  fi
  if ! fuzz "$package" "$name"; then
    if starved "$name"; then
      echo "$name had no processor for ten seconds: once more"
      began=$SECONDS
      fuzz "$package" "$name" || result=FAILED
    else
      result=FAILED
    fi
  fi
  popd >/dev/null
  [ "$result" = ok ] || failed+=("$name")
  executions=$(grep -o 'execs: [0-9]*' "$log" | tail -1 | cut -d' ' -f2) || executions=0
  reached+=("$(printf '%-22s %-26s %10d executions %5d s  %s' "$name" "$package" "${executions:-0}" $((SECONDS - began)) $result)")
done <<<"$targets"

printf '%s\n' "${reached[@]}"
if ((${#failed[@]})); then
  echo "${#failed[@]} of $count fuzz targets failed; to go on with them: FUZZ='^($(IFS='|'; echo "${failed[*]}"))\$' FUZZTIME=$fuzztime make fuzz" >&2
  exit 1
fi
