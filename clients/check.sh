#!/usr/bin/env bash
# Checks the clients: their types and code, and with a real server the table of faults, mirrors, programs and pages. A
# language whose tools are absent is skipped with one line.
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go}

(cd go && GOWORK=off "$go" vet ./... && GOWORK=off "$go" test ./...)
./check-languages.sh
"$go" vet -tags clients ./faults
"$go" test -count=1 -tags clients ./faults
