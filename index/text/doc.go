// Package text finds the cards that a free-text query means, and how well each matches.
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
// Normalise: names, sets and queries are reduced to common words. Symbols become spoken words (♀ is
// female, ★ is star), diacritics and apostrophes are removed, every other sign separates words,
// "and" is dropped. The parser of names (name_parser.go) also separates words that only qualify a
// name, because catalogs disagree on the extent of a name.
//
// Parse: a word in the form of a collector number is a number, and is never corrected. A bare
// integer may be a number, but if a name or set has it, it is a word.
//
// Expand: every word of the query is expanded to known words. These are the word itself, words with
// it as a prefix, similar words, two words written as one or one written as two. Similar words come
// from bleve's term dictionary, which has every distinct word; our own automaton searches it, so a
// user's text never reaches bleve's query parsers. The first pass of a search takes words as typed,
// the second corrects spelling, the third takes the last word as a misspelled prefix. A further
// pass runs only while no card has all words.
//
// Intersect: postings lead from words to name groups, each of which is the cards of one name, and
// to sets. Groups that cannot have enough of the words are never visited, so "charizard ex" costs
// as much as "charizard".
//
// Score: one integer packs the levels that order hits. Each level breaks only the ties of the
// levels above. First come the weight of missing words, typos, the exact full name, and
// preferences. Then come words found outside the name, number, whole set name, and exact words.
// Last come the name's popularity less its other words, and word order. The caller breaks the
// remaining ties: by relevance prior, then by catalog order (decision 22).
//
// # Games
//
// One index has the cards of all games, and its word lists serve all games. These are the suffixes
// that a word of three letters may be a misspelling of, the words that describe a printing, the
// letters that stand for Nidoran's sign, the endings of parallels' numbers. The lists are here and
// not in the table of games, because each applies only to words that cards really have. A suffix
// without a card matches nothing, and Nidoran's letters do not affect other games. A new game's
// finishes are added to the lists; without that they are found like any other word.
//
// # Caveats
//
// The meaning of a query does not depend on filters: accept sees cards, not words. A query is read
// up to 24 words, of which at most eight terms of forty bytes are searched. Typos are counted in
// ASCII letters; words in other scripts are found as typed.
package text
