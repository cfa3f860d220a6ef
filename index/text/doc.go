// Package text answers which cards a free-text query means, and how well each fits.
//
// A query goes through five steps; docs/dev/SEARCH.md has the rules.
//
//	"Pikchu & Zekrom-GX 33/181"
//	  normalise   pikchu  zekrom  gx  33 / 181      normalise.go
//	  role        no stop word, no preference       roles.go, stopwords.go, aliases.go
//	  parse       pikchu  zekrom  gx  number 33     query.go
//	              of 181
//	  expand      pikchu: pikachu, one typo         expand.go, fuzzy.go,
//	                                                dictionary.go
//	  intersect   Pikachu & Zekrom-GX has all       candidates.go, hits.go
//	  score       0 missing, 1 typo, number hit     score.go
//
// Normalise: names, sets and queries are reduced to the same words. Symbols become the words people
// say (♀ is female, ★ is star), diacritics and apostrophes are removed, every other sign separates
// words, "and" is dropped. The parser of names (name_parser.go) also separates the words that only
// qualify a name, because catalogs disagree on what is part of it.
//
// Parse: a word that is written as a collector number is one, and its spelling is never corrected.
// A bare integer may be a number, but is a word of a name or set where one has it.
//
// Expand: every word of the query is expanded to the known words that it may stand for: itself,
// words of which it is a prefix, similar words, two words written as one or one written as two.
// Similar words come from bleve's term dictionary, which has every distinct word; our own automaton
// searches it, so a user's text never reaches bleve's query parsers. The first pass of a search
// takes words as typed, the second corrects spelling, the third takes the last word as a misspelled
// prefix. A further pass runs only while no card has all words.
//
// Intersect: postings lead from words to name groups, each of which is the cards of one name, and
// to sets. Groups that cannot have enough of the words are never visited, so "charizard ex" costs
// as much as "charizard".
//
// Score: one integer packs the levels by which hits are ordered, each of which breaks only the ties
// of the levels above it: the weight of missing words, typos, the exact full name, preferences,
// words found outside the name, number, whole set name, exact words, the name's popularity less its
// other words, word order. The caller breaks the remaining ties: by relevance prior, then by
// catalog order (decision 22).
//
// # Games
//
// One index has the cards of all games, and its word lists serve all games: the suffixes that a
// word of three letters may be a misspelling of, the words that describe a printing, the letters
// that stand for Nidoran's sign, the endings of parallels' numbers. These lists are here and not in
// the table of games, because each applies only to words that cards really have. A suffix that no
// card has matches nothing, and Nidoran's letters do not affect other games. A new game's finishes
// are added to the lists; without that they are found like any other word.
//
// # Caveats
//
// The meaning of a query does not depend on filters: accept sees cards, not words. A query is read
// up to 24 words, from which at most eight terms of forty bytes are searched. Typos are counted in
// ASCII letters; words in other scripts are found as typed.
package text
