package text

// A Fit says how a hit answers the query.
type Fit struct {
	Missing  int  // what the words of the query that the card does not have weigh
	Unmet    int  // what the card lacks of the rarity, finish and edition that the query prefers
	Typos    int  // errors in the others
	Borrowed int  // how much of the query the card has beside its name: words of its set, bare integers as its number
	Whole    bool // the query has every word of the card's name, as typed; what only qualifies the name may be left out
}

// FitOf reads the fit from a hit's score.
func FitOf(score uint64) Fit {
	level := func(at, next int) int { return int(score >> at & (1<<(next-at) - 1)) }
	return Fit{
		Missing:  int(score >> missingAt),
		Unmet:    level(unmetAt, partAt),
		Typos:    level(typosAt, dropAt),
		Borrowed: level(borrowAt, unmetAt),
		Whole:    level(partAt, furtherAt) == 0,
	}
}
