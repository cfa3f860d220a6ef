// Package text answers which cards a free-text query means, and how well each fits.
//
// A query goes through five steps; docs/SEARCH.md has the rules.
//
//	"Pikchu & Zekrom-GX 33/181"
//	  normalise   pikchu  zekrom  gx  33 / 181      normalise.go
//	  role        no stop word, no preference       roles.go, stopwords.go, aliases.go
//	  parse       pikchu  zekrom  gx  number 33     query.go
//	              of 181
//	  expand      pikchu: pikachu, one typo         expand.go, fuzzy.go,
//	                                                automaton.go, dictionary.go
//	  intersect   Pikachu & Zekrom-GX has all       candidates.go, hits.go
//	  score       0 missing, 1 typo, number hit     score.go
//
// Normalise: names, sets and queries are reduced to the same words. Symbols become the words people
// say (♀ is female, ★ is star), marks and apostrophes vanish, every other sign divides, "and" is
// left out. A name's reader (name_parser.go) also sets apart what only qualifies a name, because
// catalogs disagree on what is part of it.
//
// Parse: what is written as a collector number is one, and is never misspelled. A bare integer may
// be a number, but is a word of a name or set where one has it.
//
// Expand: every word is read as the known words that it may stand for: itself, the beginning of
// others, a misspelling, two words written as one or one written as two. Which known words are near
// is asked of bleve, whose term dictionary holds every distinct word and is walked with an
// automaton of our own; text of a user never reaches bleve's query parsers. A search first takes
// words as they were typed, then as respelled, then guesses at a misspelled beginning, and goes on
// only as long as no card has all words.
//
// Intersect: the words point to titles, which all cards of one name share, and to sets. Titles that
// cannot have enough of the words are never visited, so that "charizard ex" costs as much as
// "charizard".
//
// Score: one integer holds the levels by which hits are ordered, each breaking only the ties of
// those above it: the weight of missing words, typos, the exact full name, preferences, words found
// beside the name, number,
// whole set name, exact words, how often the name was printed less its other words, word order.
// What is still equal is left to the caller: how likely a card is to be meant, and the order of the
// catalog (decision 22).
//
// # Games
//
// One index holds the cards of all games, and its words are of all games: the suffixes that a word
// of three letters may be a misspelling of, the words that describe a printing, the letters that
// stand for Nidoran's sign, the endings of parallels' numbers. They are lists here and no members
// of the table of games, because each of them looks at words that cards really have. A suffix that
// no card has matches nothing, and a game without Nidoran is not concerned by it. What a new game
// calls its finishes is added to the lists; without that it is found as any other word is.
//
// # Caveats
//
// Meaning does not depend on filters: keep sees cards, not words. A query is read up to 24 words, of
// which eight units of forty bytes are looked for. Typos are counted in the ASCII letters that words
// consist of; words in other scripts are found as typed.
package text
