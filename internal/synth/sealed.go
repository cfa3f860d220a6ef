package synth

import (
	"fmt"
	"strconv"
	"time"
)

// pack is a kind of sealed product.
type pack struct {
	packageType string
	label       string
	units       int
	unitKind    string
	edition     string
}

var (
	eliteBox       = pack{"elite_trainer_box", "Elite Trainer Box", 9, "booster_pack", "standard"}
	centerEliteBox = pack{"elite_trainer_box", "Pokémon Center Elite Trainer Box", 11, "booster_pack", "pokemon_center"}
	bundle         = pack{"booster_bundle", "Booster Bundle", 6, "booster_pack", "standard"}
	pokemonBox     = pack{"booster_box", "Booster Box", 36, "booster_pack", "standard"}
	pokemonCase    = pack{"booster_case", "Booster Box Case", 6, "booster_box", "standard"}
	onePieceBox    = pack{"booster_box", "Booster Box", 24, "booster_pack", "standard"}
	onePieceCase   = pack{"booster_case", "Booster Box Case", 12, "booster_box", "standard"}
)

// packMedian is the median price of a booster pack in cents.
const packMedian = 480

// sealed is a sealed product; its lane has neither variant nor condition.
type sealed struct {
	ref       string
	set       *set
	pack      pack
	name      string
	ids       []identifier
	updatedAt time.Time
	lane      lane
}

// packs returns the kinds of sealed products of a set.
func (s *set) packs() []pack {
	switch s.style {
	case plainTotal, paddedTotal, trainerPart, galarPart:
		return []pack{eliteBox, centerEliteBox, bundle, pokemonBox, pokemonCase}
	case firstPrint:
		return []pack{pokemonBox, pokemonCase}
	case booster, extra:
		return []pack{onePieceBox, onePieceCase}
	case blackStar, starter, promotion:
	}
	return nil
}

// sealed makes the i-th sealed product of a set.
func (c *catalog) sealed(s *set, i int) *sealed {
	d := roll(c.Seed, forSealed, uint64(s.index), uint64(i))
	pack := s.packs()[i]
	sealed := &sealed{ref: fmt.Sprintf("x%04d-%d", s.index, i), set: s, pack: pack, name: s.name + " " + pack.label}
	if s.index < plantedSets && i == 0 {
		// The partner id of a card, so that it is ambiguous across kinds.
		sealed.ids = []identifier{{partnerNamespace, partnerValue(s.first + 3)}}
	} else if !d.chance(200) {
		sealed.ids = []identifier{{partnerNamespace, strconv.Itoa(5_000_000 + 8*s.index + i)}}
	}
	if d.chance(300) {
		sealed.ids = append(sealed.ids, identifier{barcodeNamespace, fmt.Sprintf("0820650%05d", d.below(100_000))})
		sealed.updatedAt = c.zero.Add(-time.Duration(d.below(300*24*3600)) * time.Second)
	}

	packs := pack.units
	if pack.unitKind == pokemonBox.packageType {
		packs *= pokemonBox.units
	}

	walk := walk{seed: d.next(), level: d.logNormal(packMedian*int64(packs), 0.6)}
	born := max(c.bornOn(s.first), s.released)
	sealed.lane = lane{walk: walk, perMille: 1000, start: laneStart(d, born), end: forever, gapEnd: always}
	sealed.lane.live(d)
	return sealed
}
