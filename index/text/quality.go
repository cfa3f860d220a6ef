package text

// A MatchQuality is how well a hit matches the query.
type MatchQuality struct {
	Missing         int // the weight of the query's words that the card does not have
	UnmetPreference int // how far the card is from the preferred rarity, finish and edition
	Typos           int // spelling errors in the other words
	// OutsideName counts what matches outside the card's name: words of its set, bare integers as its
	// number
	OutsideName int
	// WholeName says that the query has every word of the card's name, as typed; qualifiers may be missing
	WholeName bool
}

// QualityOf decodes the quality from a hit's score.
func QualityOf(score uint64) MatchQuality {
	level := func(at, next int) int { return int(score >> at & (1<<(next-at) - 1)) }
	return MatchQuality{
		Missing:         int(score >> missingAt),
		UnmetPreference: level(unmetAt, partAt),
		Typos:           level(typosAt, dropAt),
		OutsideName:     level(outsideNameAt, unmetAt),
		WholeName:       level(partAt, tieTermsAt) == 0,
	}
}
