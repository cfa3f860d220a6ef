#!/usr/bin/env bash
# Lints the packages that changed since the merge base with a branch, and runs their short tests.
set -euo pipefail
cd "$(dirname "$0")/.."
branch=${1:-main} GO=${GO:-go} TOOL=${TOOL:-go tool -modfile=tools/go.mod}

base=$(git merge-base HEAD "$branch" 2>/dev/null || git rev-parse HEAD)
changed=$( { git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)

# The folder of a changed file, or the one above that is a package: testdata and templates belong to it.
packages=()
while IFS= read -r folder; do
  while [ "$folder" != . ] && ! compgen -G "$folder/*.go" >/dev/null; do folder=$(dirname "$folder"); done
  [ "$folder" = . ] || $GO list "./$folder" >/dev/null 2>&1 || continue # removed, or of another module
  packages+=("./${folder#./}")
done < <(xargs -r -n1 dirname <<<"$changed" | sort -u)
mapfile -t packages < <(printf '%s\n' "${packages[@]:-./.}" | sed 's,^\./\.$,.,' | sort -u)

echo "changed since ${base:0:8}: ${packages[*]}"
$TOOL golangci-lint run "${packages[@]}"
$GO test -short "${packages[@]}"
