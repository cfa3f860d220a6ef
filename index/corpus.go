package index

import (
	"slices"

	"ninepocket/index/text"
	"ninepocket/snapshot"
)

// corpus adapts the catalog of an index to the word index. The codes of a game's own apps are codes of its sets.
func corpus(ix *Index) text.Corpus {
	c := ix.c
	setNames := ix.setNames
	ofSet := func(column *snapshot.Strings) func(int) string {
		return func(card int) string { return c.OfSet(column, card) }
	}

	return text.Corpus{
		Len:      c.Cards.ID.Len(),
		Order:    ix.orders.newest,
		Name:     c.Cards.Name.At,
		Number:   c.Cards.Number.At,
		SetName:  ofSet(&c.Sets.Name),
		SetCode:  ofSet(&c.Sets.Code),
		Printing: c.Cards.Printing.At,
		Game:     func(card int) uint8 { return c.Cards.Game[card] },
		Set:      func(card int) int32 { return c.Cards.Set[card] },
		Rarity:   c.Cards.Rarity.At,
		Finishes: func(card int, each func(string)) {
			from, to := c.Lanes.Of.Range(card)
			for lane := from; lane < to; lane++ {
				// Lanes of one variant are neighbours.
				if lane == from || c.Lanes.Variant[lane] != c.Lanes.Variant[lane-1] {
					each(c.Variants.At(int(c.Lanes.Variant[lane])))
				}
			}
		},
		SetAliases: func(card int, each func(string)) {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				for from, to := c.Sets.Aliases.Range(int(set)); from < to; from++ {
					each(c.Sets.Alias.At(from))
				}
				setNames.eachAppCode(uint32(set), each)
			}
		},
		Series: ofSet(&c.Sets.Series),
		Year: func(card int) int {
			if set := c.Cards.Set[card]; set != snapshot.NoSet && c.Sets.Release[set] != snapshot.NoDay {
				return c.Sets.Release[set].Time().Year()
			}
			return 0
		},
		// Cards are numbered by price, the most expensive first.
		Unpriced: c.Cards.ID.Len() == 0 || c.DisplayCents(0) < 0,

		Games:   slices.Collect(c.Games.Name.All()),
		Aliases: aliases(c),
		Total: func(card int) int {
			if set := c.Cards.Set[card]; set != snapshot.NoSet {
				return int(c.Sets.Total[set])
			}
			return 0
		},
	}
}

// aliases returns the phrases that mean other words or a card.
func aliases(c *snapshot.Catalog) []text.Alias {
	a := &c.Aliases
	all := make([]text.Alias, 0, len(a.Game)+len(c.Names.Game))
	for i, game := range a.Game {
		all = append(all, text.Alias{
			Phrase: a.Phrase.At(i), Replacement: a.Replacement.At(i), Card: int(a.Card[i]), Game: gameOrAll(game),
		})
	}

	for i, game := range c.Names.Game {
		all = append(all, text.Alias{
			Phrase: c.Names.Name.At(i), Replacement: c.Names.English.At(i), Card: -1, Game: gameOrAll(game),
			Translated: true,
		})
	}
	return all
}

// gameOrAll is a row of games as the text index has it: -1 for all.
func gameOrAll(game uint8) int {
	if game == snapshot.AnyGame {
		return -1
	}
	return int(game)
}
