#!/usr/bin/env bash
# Writes the version of CHANGELOG.md's newest heading wherever the sources have it: the OpenAPI document, the clients, and
# names of released files on pages. `version.sh check` writes nothing, and fails where one differs.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/^## \[\([0-9][^]]*\)\].*/\1/p' CHANGELOG.md | head -1)
number='[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+\.[0-9]+)?' differs=

# spread FILE EXPRESSION… edits a file, or reports that it would.
spread() {
  local file=$1 edits=()
  shift
  for edit in "$@"; do edits+=(-e "$edit"); done
  if [ "${mode:-}" = check ]; then
    sed -E "${edits[@]}" "$file" | cmp -s - "$file" && return
    echo "$file has another version than $version: run make generate" >&2
    differs=yes
  else
    sed -E "${edits[@]}" "$file" | cmp -s - "$file" || sed -i -E "${edits[@]}" "$file"
  fi
}
mode=${1:-}

spread wire/openapi/openapi.json "/\"title\": \"Ninepocket\"/ { N; s,(\"version\": \")[^\"]*,\1$version, }"
spread clients/go/client.go "s,^(const Version = \")[^\"]*,\1$version,"
spread clients/python/ninepocket/transport.py "s,^(VERSION = \")[^\"]*,\1$version,"
spread clients/typescript/src/transport.ts "s,^(export const version = \")[^\"]*,\1$version,"
for file in clients/typescript/package.json clients/typescript/package-lock.json; do
  spread "$file" "1,10s,^( *\"version\": \")[^\"]*,\1$version,"
done
for file in deploy/compose.yml deploy/fleet/compose.yml; do
  spread "$file" "s,(VERSION: )$number,\1$version,"
done
spread Dockerfile "s,(VERSION=)$number,\1$version,"
for file in README.md docs/*.md clients/README.md clients/*/README.md clients/faults/packages_test.go; do
  spread "$file" "s,(ninepocket(-go)?[-_])$number,\1$version,g" "s,(clients/go@v)$number,\1$version," \
    "s,(VERSION=)$number,\1$version,g" "s,(@v)$number(\`),\1$version\3,g"
done
[ -z "$differs" ]
