#!/usr/bin/env bash
# Builds the day's snapshot from a feed that is on disk, shows what changed, and publishes it. Servers follow by themselves.
# Nothing is fetched here: PULL names the program that does that, and is given FEED's path.
#
#   FEED        the day's feed, KIND:PATH, such as tcgcsv:/var/lib/ninepocket/feed/tcgplayer (required)
#   PULL        program that fetches the feed, run first (default: none, the feed is already there)
#   STORE       snapshot store (default: /var/lib/ninepocket/store)
#   BUILD_FLAGS more flags of `ninepocket snapshot build`, such as "--mapping /etc/ninepocket/mapping"
#   NINEPOCKET  the program (default: ninepocket)
#
# Exit status: 0 published, or nothing new; 1 the pull or the build failed; 2 a mistake in the settings; 3 the snapshot
# was built but refused, and the one before is still served.
set -euo pipefail

store=${STORE:-/var/lib/ninepocket/store}
ninepocket=${NINEPOCKET:-ninepocket}
read -ra build_flags <<<"${BUILD_FLAGS:-}"

say() { printf 'daily: %s\n' "$*" >&2; }

if [ -z "${FEED:-}" ]; then
  say 'set FEED to KIND:PATH'
  exit 2
fi
if [ -n "${PULL:-}" ]; then
  "$PULL" "${FEED#*:}" || { say "cannot pull the feed: $PULL ended with $?"; exit 1; }
fi

# The first snapshot has none to continue. What goes on is what is published: a build that was refused must not.
base=none
if [ -e "$store/CURRENT" ]; then
  base=current
fi

# A failed build keeps its exit status: 1, or 2 for a mistake in FEED or BUILD_FLAGS.
built=$("$ninepocket" snapshot build --store "$store" --source "$FEED" --base "$base" "${build_flags[@]}" --json)
id=$(sed -n 's/^  "id": "\([^"]*\)".*/\1/p' <<<"$built")
[ -n "$id" ] || { say 'the build did not say what it built'; exit 1; }

current=$("$ninepocket" snapshot list --store "$store" | awk '$NF == "current" { print $1 }')
if [ "$id" = "$current" ]; then
  say "nothing is new: $id is already served"
  exit 0
fi
if [ -n "$current" ]; then
  # For the log only: publish decides by its guards.
  "$ninepocket" snapshot diff "$current" "$id" --store "$store" || say "cannot compare $current with $id"
fi

status=0
"$ninepocket" snapshot publish "$id" --store "$store" || status=$?
case $status in
  0) say "published $id" ;;
  3) say "$id was refused and ${current:-nothing} stays; look at it with: $ninepocket snapshot inspect $id --store $store" ;;
  *) say "cannot publish $id (exit status $status)" ;;
esac
exit "$status"
