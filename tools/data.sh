#!/usr/bin/env bash
# Reports where the real catalogs are expected and which tests are skipped without them. Nothing is downloaded:
# several of the sources state no licence, so that the repository holds none of them.
set -euo pipefail
cd "$(dirname "$0")/.."
data=${DATA:-../shared/data}

missing=0
row() { # path below the data folder, what needs it
  local state=present
  [ -e "$data/$1" ] || { state=absent; missing=$((missing + 1)); }
  printf '  %-8s %-56s %s\n' "$state" "$1" "$2"
}

echo "Real catalogs and prices are expected in $data:"
row tcgcsv/tcgplayer-current.tar.zst 'TCGCSV source: build of the whole tree, price comparison'
row tcgcsv/archive 'TCGCSV archive days: daily builds, 7z reading'
row pokemon-tcg-data/pokemon-tcg-data-en.tar.zst 'pokemon-tcg-data source, search set (Pokémon)'
row punk-records/punk-records-english.tar.zst 'punk-records source, search set (One Piece)'
row price-history/pokemon-daily-250d-by-productId.csv.zst 'history, statistics and changes (Pokémon)'
row price-history/onepiece-daily-366d-by-productId.csv.zst 'history, statistics and changes (One Piece)'
row price-history/pokemon-weekly-130w-by-pokemontcg-id.csv.zst 'history keyed by pokemon-tcg-data ids'
row price-history/pokemon-sealed-610d-by-productId.csv.zst 'history of sealed products'
row search-queries.tsv 'search set: floors per tier'
if [ "$missing" = 0 ]; then
  echo 'Everything is there: no test skips for want of data.'
else
  echo "$missing of 9 are absent: tests that need them skip with one line; everything else runs on the synthetic catalog."
fi
