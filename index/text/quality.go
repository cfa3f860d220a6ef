package text

// A MatchQuality says how a hit answers the query.
type MatchQuality struct {
	Missing         int // what the words of the query that the card does not have weigh
	UnmetPreference int // what the card lacks of the rarity, finish and edition that the query prefers
	Typos           int // errors in the others
	// how much of the query the card has beside its name: words of its set, bare integers as its
	// number
	OutsideName int
	// the query has every word of the card's name, as typed; what only qualifies the name may be
	// left out
	Whole bool
}

// QualityOf reads the fit from a hit's score.
func QualityOf(score uint64) MatchQuality {
	level := func(at, next int) int { return int(score >> at & (1<<(next-at) - 1)) }
	return MatchQuality{
		Missing:         int(score >> missingAt),
		UnmetPreference: level(unmetAt, partAt),
		Typos:           level(typosAt, dropAt),
		OutsideName:     level(outsideNameAt, unmetAt),
		Whole:           level(partAt, tieTermsAt) == 0,
	}
}
