package synth

import "strings"

// rarity is a rarity as printed, with its frequency (of a thousand), the median price of its cards
// and their finish.
type rarity struct {
	name   string
	weight int
	median int64
	finish finish
}

// finish is the group of variants of a card of a rarity.
type finish uint8

const (
	normalPrint finish = iota
	holoPrint
	topPrint
	foilPrint
)

// rollRarity draws a rarity by weight.
func rollRarity(d *dice, from []rarity) rarity {
	n := d.below(1000)
	for _, r := range from {
		n -= r.weight
		if n < 0 {
			return r
		}
	}
	return from[0]
}

// pokemonName draws a name: a species with or without form and suffix, a trainer or an energy.
func pokemonName(d *dice, r rarity) string {
	n := d.below(1000)
	switch {
	case r.finish == topPrint && n < 700:
		return withSuffix(d)
	case n < 730:
		return d.pick(pokemonNames)
	case n < 760:
		return d.pick(pokemonOwners) + " " + d.pick(pokemonNames)
	case n < 800:
		return d.pick(pokemonPrefixes) + " " + d.pick(pokemonNames)
	case n < 960:
		return d.pick(pokemonTrainers)
	}
	return d.pick(pokemonEnergies)
}

// withSuffix draws the name of a rare card: Charizard ex, Pikachu & Zekrom-GX, M Gengar-EX, N's
// Zoroark ex.
func withSuffix(d *dice) string {
	name := d.pick(pokemonNames)
	suffix := d.pick(pokemonSuffixes)
	switch n := d.below(100); {
	case n < 8:
		name += " & " + d.pick(pokemonNames)
		suffix = "-GX"
	case n < 14:
		name = d.pick(pokemonOwners) + " " + name
	case n < 20:
		name = d.pick(pokemonPrefixes) + " " + name
	case n < 23:
		name = "M " + name
		suffix = "-EX"
	}

	if strings.HasPrefix(suffix, "-") {
		return name + suffix
	}
	return name + " " + suffix
}

// onePieceName draws a name: a character or two, an event or a stage. Leaders are characters.
func onePieceName(d *dice, r rarity) string {
	n := d.below(1000)
	switch {
	case r.name == "L" || n < 800:
		return d.pick(onePieceNames)
	case n < 820:
		// Sources have this escape; loaders must decode it.
		return d.pick(onePieceNames) + " &amp; " + d.pick(onePieceNames)
	case n < 930:
		return d.pick(onePieceMoves) + " " + d.pick(onePieceBlows)
	case n < 970:
		return d.pick(onePieceEvents)
	}
	return d.pick(onePieceStages)
}
