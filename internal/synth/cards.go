package synth

import (
	"fmt"
	"strconv"
	"time"
)

// identifier is an id of a product in another namespace; partner values are numeric.
type identifier struct {
	Namespace string `json:"namespace"`
	Value     string `json:"value"`
}

// The namespaces of the catalog and of its identifiers.
const (
	namespace        = "synth"
	partnerNamespace = "partner"
	legacyNamespace  = "legacy"
	barcodeNamespace = "upc"
)

// card is one card with its lanes. Its data depend on the seed, its set and its place there; only
// edits and the day that added it depend on the size of the catalog and the day.
type card struct {
	ordinal   int
	ref       string
	set       *set
	noSet     bool
	name      string
	number    string
	rarity    string
	printing  string
	image     string
	ids       []identifier
	updatedAt time.Time
	lanes     []lane
}

// card makes the card at a place of a set, from 0.
func (c *catalog) card(s *set, place int) *card {
	k := &card{ordinal: s.first + place, set: s}
	k.ref = fmt.Sprintf("c%07d", k.ordinal)
	// Every part has a separate random stream, so that a change of one affects no other.
	d := roll(c.Seed, forCard, uint64(s.index), uint64(place))
	r := c.identity(k, place)
	c.omit(k, d)
	k.printing = printing(s, place, d)
	if d.chance(650) {
		k.image = k.ref + ".webp"
	}

	k.ids = cardIdentifiers(k.ordinal, d)
	if d.chance(300) {
		k.updatedAt = c.zero.Add(-time.Duration(d.below(900*24*3600)) * time.Second)
	}

	// A card has no price before its set is out or before it is added.
	born := max(c.bornOn(k.ordinal), s.released)
	if !d.chance(12) {
		k.lanes = c.cardLanes(s, place, r, born)
	}
	// A planted card has its case, whatever was drawn.
	if p, ok := plantedAt(s, place); ok {
		p.apply(k, c.Seed)
	}

	// A new name is an edit of that day, and the card has the day of its last edit.
	if day, ok := c.edits.renamed[k.ordinal]; ok {
		k.name = c.renamedName(s, place, r, k.name, day)
		k.updatedAt = c.at.AddDate(0, 0, day-c.Day)
	}
	return k
}

// identity sets name, number and rarity. A parallel has those of the card that it repeats.
func (c *catalog) identity(k *card, place int) rarity {
	s := k.set
	of := place
	copyNo := 0
	if s.style == booster && place >= s.base {
		of, copyNo = parallelOf(s, place)
	}

	d := roll(c.Seed, forName, uint64(s.index), uint64(of))
	r := c.rarityAt(s, of, d)
	k.rarity = r.name
	k.name = nameOf(s.game, r, d)
	k.number = s.number(of)

	// A parallel has the identity of its original, also of a planted one.
	if p, ok := plantedAt(s, of); ok && copyNo > 0 {
		k.name = p.name
		k.rarity = p.rarity
	}
	if copyNo > 0 {
		k.number += "_p" + strconv.Itoa(copyNo)
		r.median *= 6
	}
	return r
}

func (c *catalog) rarityAt(s *set, place int, d *dice) rarity { // air: one step
	switch {
	case s.style == blackStar:
		return blackStarRarity

	case s.style == promotion:
		return promotionRarity
	case s.game == onePiece && place == s.base-1 && s.style != starter:
		// SEC closes a booster.
		return onePieceRarities[4]
	case s.game == onePiece && d.chance(15):
		return donRarity
	case s.game == onePiece:
		return rollRarity(d, onePieceRarities)
	case s.secret(place):
		return rollRarity(d, secretRarities)
	}
	return rollRarity(d, pokemonRarities)
}

func nameOf(g game, r rarity, d *dice) string {
	switch {
	case r.name == donRarity.name:
		return "DON!! Card"
	case g == onePiece:
		return onePieceName(d, r)
	}
	return pokemonName(d, r)
}

// omit removes what some cards do not have.
func (c *catalog) omit(k *card, d *dice) {
	k.noSet = d.chance(7)
	if d.chance(5) || k.rarity == donRarity.name {
		k.number = ""
	}
	if d.chance(10) {
		k.rarity = ""
	}
}

func printing(s *set, place int, d *dice) string {
	switch {
	case s.style == booster && place >= s.base:
		return "Parallel"
	case d.chance(60):
		return d.pick(printings)
	case d.chance(200):
		return "standard"
	}
	return ""
}

var printings = list(`Alternate Art, Full Art, Cosmos Holo, Stamped, Staff, Prerelease, Cracked Ice Holo, Jumbo`)

// cardIdentifiers gives most cards a partner's number. One in 97 has that of the previous card, so
// that a lookup finds two.
func cardIdentifiers(ordinal int, d *dice) []identifier {
	var ids []identifier
	if lacks := d.chance(200); !lacks || ordinal < plantedCards || ordinal%97 == 5 || ordinal%97 == 4 {
		ids = append(ids, identifier{partnerNamespace, partnerValue(ordinal)})
	}
	if d.chance(100) {
		ids = append(ids, identifier{legacyNamespace, "card/" + strconv.Itoa(ordinal)})
	}
	return ids
}

func partnerValue(ordinal int) string {
	// One card in 97 has the partner id of the previous card.
	if ordinal%97 == 5 {
		ordinal--
	}
	return strconv.Itoa(100_003 + 3*ordinal)
}

// renamedName draws a new name for a card that is renamed on day.
func (c *catalog) renamedName(s *set, place int, r rarity, old string, day int) string {
	d := roll(c.Seed, forName, uint64(s.index), uint64(place), uint64(day))
	// A draw may give the old name again.
	for range 8 {
		if name := nameOf(s.game, r, d); name != old {
			return name
		}
	}

	// DON!! cards all have one name.
	return old + " (Gold)"
}

// cardLanes returns the lanes of every variant of a card of the rarity.
func (c *catalog) cardLanes(s *set, place int, r rarity, born int) []lane {
	d := roll(c.Seed, forLanes, uint64(s.index), uint64(place))
	level := d.logNormal(r.median, 1.1)
	// Old sets cost more.
	if s.style == firstPrint {
		level *= 3
	}

	var lanes []lane
	for i, v := range variantsOf(s, r, d) {
		walk := walk{
			seed:  seedOf(c.Seed, forWalk, uint64(s.index), uint64(place), uint64(i)),
			level: level * int64(v.percent) / 100,
		}
		walk.level = max(walk.level, floorCents)
		lanes = lanesOf(lanes, d, v.code, walk, born, c.Conditions)
	}
	return lanes
}

// variant is a variant's code and its price in percent of the card's price level.
type variant struct {
	code    string
	percent int
}

func variantsOf(s *set, r rarity, d *dice) []variant {
	switch {
	case s.game == onePiece && r.finish == foilPrint:
		return []variant{{"foil", 100}}
	case s.game == onePiece:
		return some(d, 350, variant{"normal", 100}, variant{"foil", 220})
	case s.style == firstPrint && r.finish == normalPrint:
		return some(d, 700, variant{"unlimited", 100}, variant{"1st_edition", 260})
	case s.style == firstPrint:
		return some(d, 700, variant{"unlimited_holofoil", 100}, variant{"1st_edition_holofoil", 340})
	case r.finish == normalPrint:
		return some(d, 850, variant{"normal", 100}, variant{"reverse_holofoil", 140})
	case r.finish == holoPrint:
		return some(d, 850, variant{"holofoil", 100}, variant{"reverse_holofoil", 80})
	}
	return []variant{{"holofoil", 100}}
}

// some returns both variants for n of a thousand cards, else the first alone.
func some(d *dice, n int, first, second variant) []variant {
	if d.chance(n) {
		return []variant{first, second}
	}
	return []variant{first}
}
