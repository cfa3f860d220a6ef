#!/usr/bin/env bash
# Copies the commit's sources with another import path: module.sh github.com/OWNER/ninepocket DIST. From where that path leads,
# `go install PATH/cmd/ninepocket@VERSION` works. Its nested modules keep their folders.
set -euo pipefail
path=${1:-} dist=${2:?usage: module.sh PATH DIST}
case $path in
*.*/*) ;;
*)
  echo "module: cannot use the path '$path': want HOST/OWNER/NAME, such as make module PATH=github.com/OWNER/ninepocket" >&2
  exit 2
  ;;
esac
cd "$(dirname "$0")/../.."
rm -rf "$dist"
mkdir -p "$dist"
git archive HEAD | tar -x -C "$dist"

# Import paths alone: within quotes, behind the word module, and as the package of a command line of go.
cd "$dist"
grep -rlE --include='*.go' --include='*.qtpl' --include='go.mod' --include='*.md' --include='*.sh' --include='*.yml' \
  '"ninepocket/|module ninepocket|ninepocket/clients/go|ninepocket => ' . |
  xargs sed -i -E \
    -e "s,\"ninepocket/([a-z]),\"$path/\1,g" \
    -e "s,^module ninepocket(/|\$),module $path\1," \
    -e "s,(^|[^a-z0-9./-])ninepocket/clients/go,\1$path/clients/go,g"
echo "the module $path is in $dist"
