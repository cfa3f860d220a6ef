package synth

import "strings"

// The planted sets are the first of each game; no edit touches their cards.
const (
	plantedSets          = 2
	plantedPokemonSize   = 102
	plantedOnePieceSize  = 140
	plantedOnePieceBase  = 119
	plantedCards         = plantedPokemonSize + plantedOnePieceSize
	plantedBooster       = 5 // OP05
	promotionSize        = 45
	sharedSetName        = "Paradise Found"
	maxCardName          = 50
	plantedReleaseOffset = -20
)

// plantSet overwrites the drawn values of the early sets with special cases.
func plantSet(s *set) { // air: one step
	switch {
	case s.index == 0:
		s.style = firstPrint
		s.size = plantedPokemonSize
		s.total = plantedPokemonSize
		s.name = "Kanto Classic"
		s.series = "Classic Journey"
		s.released = -26 * 365
		s.aliases = []string{"KC", "Base"}

	case s.index == 1:
		s.style = booster
		s.size = plantedOnePieceSize
		s.base = plantedOnePieceBase
		s.code = "OP05"
		s.name = "Dawn of the Straw Fleet"
		s.released = -2 * 365
		s.aliases = []string{"OP05", "OP-05"}
	case s.game == onePiece && s.nth == 1:
		s.style = promotion
		s.size = promotionSize
		s.code = "P"
		s.name = "One Piece Promotion Cards"
		s.series = ""
		s.released = always
		s.aliases = []string{}
	case s.game == onePiece && s.nth == 3, s.game == pokemon && s.nth == 6:
		s.name = sharedSetName
	case s.game == pokemon && s.nth == 1:
		s.name = "Sword & Tempest"
		s.series = ""
	case s.game == pokemon && s.nth == 2:
		s.name = "Galar Black Star Promos"
	case s.game == pokemon && s.nth == 3:
		s.name = "251"
		s.released = -200
	case s.game == pokemon && s.nth == 5:
		s.released = always
		s.series = pokemonSeries[0]
		s.aliases = []string{"PK05"}
	case s.game == pokemon && s.nth == 4:
		s.name = "Crown Pokédex"
		s.released = plantedReleaseOffset
		s.aliases = []string{}
	}
}

// without are the fields that a planted card lacks.
type without uint8

const (
	withoutSet without = 1 << iota
	withoutNumber
	withoutRarity
	withoutImage
	withoutLanes
	withoutIDs
)

// planted is a card at a place of a planted set. Fields that are empty here have the drawn values.
type planted struct {
	name, number, rarity, printing string
	without                        without
	lanes                          []lane // walk.seed is filled in
}

// plantedAt returns the planted card at a place of a set.
func plantedAt(s *set, place int) (planted, bool) {
	switch s.index {
	case 0:
		p, ok := plantedPokemon[place]
		return p, ok
	case 1:
		p, ok := plantedOnePiece[place]
		return p, ok
	}
	return planted{}, false
}

func (p planted) apply(k *card, seed uint64) {
	for _, f := range []struct {
		to   *string
		from string
	}{{&k.name, p.name}, {&k.number, p.number}, {&k.rarity, p.rarity}, {&k.printing, p.printing}} {
		if f.from != "" {
			*f.to = f.from
		}
	}

	k.noSet = p.without&withoutSet != 0
	if p.without&withoutNumber != 0 {
		k.number = ""
	}
	if p.without&withoutRarity != 0 {
		k.rarity = ""
	}
	if p.without&withoutImage != 0 {
		k.image = ""
	}
	if p.without&withoutIDs != 0 {
		k.ids = nil
	}
	if p.lanes == nil && p.without&withoutLanes == 0 {
		return
	}

	k.lanes = make([]lane, len(p.lanes))
	for i, l := range p.lanes {
		l.walk.seed = seedOf(seed, forWalk, uint64(k.ordinal), uint64(i))
		l.seed = seedOf(seed, forGaps, uint64(k.ordinal), uint64(i))
		k.lanes[i] = l
	}
}

// tracked returns a planted lane with a price level in cents and special changes.
func tracked(variant, condition string, cents int64, special ...func(*lane)) lane {
	l := lane{
		variant: variant, condition: condition, walk: walk{level: cents}, perMille: 1000, start: always,
		end: forever, gapEnd: always,
	}

	for _, s := range special {
		s(&l)
	}
	return l
}

func runs(script script) func(*lane)       { return func(l *lane) { l.script = script } }
func aged(freshness freshness) func(*lane) { return func(l *lane) { l.state = freshness } }
func since(day int) func(*lane)            { return func(l *lane) { l.start = day } }
func until(day int) func(*lane)            { return func(l *lane) { l.end = day } }
func silent(first, last int) func(*lane) {
	return func(l *lane) {
		l.gapStart = first
		l.gapEnd = last
	}
}
func unlicensed(l *lane)                   { l.unlicensed = true }
func one(l lane) []lane                    { return []lane{l} }
func holo(c int64, s ...func(*lane)) lane  { return tracked("holofoil", "near_mint", c, s...) }
func plain(c int64, s ...func(*lane)) lane { return tracked("normal", "ungraded", c, s...) }

// allConditions returns the six lanes of one variant, whose prices move together.
func allConditions(variant string, cents int64, script script) []lane {
	var lanes []lane
	for _, c := range conditions {
		l := tracked(variant, c.code, cents*int64(c.perMille)/1000, runs(script))
		lanes = append(lanes, l)
	}
	return lanes
}

// long is a name of exactly maxCardName characters.
var long = "Pikachu with the Extraordinarily Wide Grey Felt" + strings.Repeat("!", maxCardName-47)

// plantedPokemon are the planted cards of the first Pokémon set, by place (number minus one).
var plantedPokemon = map[int]planted{
	0: {name: "Alakazam", rarity: "Rare Holo"},
	1: {name: "Blastoise", rarity: "Rare Holo"},
	3: {name: "Charizard", rarity: "Rare Holo", lanes: append(allConditions("unlimited_holofoil", 45_000, rolling),
		allConditions("1st_edition_holofoil", 620_000, rolling)...)},
	4:  {name: "Flabébé", rarity: "Common", lanes: one(plain(35))},
	5:  {name: "Nidoran ♀", rarity: "Common", lanes: one(plain(120))},
	6:  {name: "Nidoran ♂", rarity: "Common", lanes: one(plain(110))},
	7:  {name: "Charizard δ", number: "4/100", rarity: "Rare Holo", lanes: one(holo(52_000))},
	8:  {name: "Gyarados ★", number: "102/110", rarity: "Rare Holo ex", lanes: one(holo(180_000))},
	9:  {name: "Farfetch'd", rarity: "Uncommon"},
	10: {name: "Ho-Oh", rarity: "Rare Holo", lanes: one(holo(9_000))},
	11: {name: "Mr. Mime", rarity: "Rare"},
	12: {name: "N", number: "101/101", rarity: "Ultra Rare", lanes: one(holo(2_400))},
	13: {name: long, number: "085/102", rarity: "Promo", lanes: one(holo(70_000))},
	14: {name: "Pikachu &amp; Zekrom-GX", number: "033/102", rarity: "Ultra Rare", lanes: one(holo(4_100))},
	15: {name: "Shaymin-EX", number: "XY77a", rarity: "Ultra Rare"},
	16: {name: "Lt. Surge's Raichu", rarity: "Rare Holo"},
	17: {name: "Jangmo-o", rarity: "Common"},
	18: {name: "Umbreon VMAX", number: "TG23/TG30", rarity: "Ultra Rare", lanes: one(holo(3_900))},
	19: {
		name: "Umbreon VMAX", number: "215/203", rarity: "Rare Secret", printing: "Alternate Art",
		lanes: one(holo(95_000)),
	},
	20: {name: "Pikachu", number: "SWSH203", rarity: "Promo", lanes: one(holo(1_500))},
	21: {name: "Arceus VSTAR", number: "GG69/GG70", rarity: "Hyper Rare", lanes: one(holo(8_800))},
	22: {name: "Charmander", number: "004/102", rarity: "Common", printing: "Reprint", lanes: one(holo(2_100))},
	23: {
		name: "Lillie's Clefairy ex", number: "184/102", rarity: "Special Illustration Rare",
		lanes: one(holo(14_000)),
	},
	24: {name: "Eevee", number: "25/102", rarity: "Common", printing: "standard", lanes: one(plain(180))},
	25: {name: "Eevee", number: "25/102", rarity: "Common", printing: "Stamped", lanes: one(plain(900))},
	26: {name: "Lost Ticket", without: withoutSet, lanes: one(plain(260))},
	27: {name: "Grass Energy", without: withoutNumber, lanes: one(plain(12))},
	28: {name: "Jumbo Snorlax", without: withoutRarity, lanes: one(plain(640))},
	29: {
		name:    "Blank Sticker",
		without: withoutSet | withoutNumber | withoutRarity | withoutImage | withoutLanes | withoutIDs,
	},
	30: {name: "Unpriced Ditto", rarity: "Rare", without: withoutLanes | withoutImage},
	31: {name: "Mewtwo", rarity: "Rare Holo", lanes: one(holo(8_000, runs(climbing)))},
	32: {name: "Gengar", rarity: "Rare Holo", lanes: one(holo(30_000, runs(falling)))},
	33: {name: "Snorlax", rarity: "Rare Holo", lanes: one(holo(2_500, runs(flat)))},
	34: {name: "Bill", rarity: "Common", lanes: one(plain(15, runs(freeNow)))},
	35: {name: "Lass", rarity: "Uncommon", lanes: one(plain(700, runs(freeOnce)))},
	36: {name: "Imakuni?'s Doduo", rarity: "Promo", lanes: one(holo(1_200, runs(tenfold)))},
	37: {name: "Raichu", rarity: "Rare Holo", lanes: one(holo(3_300, aged(edge)))},
	38: {name: "Magneton", rarity: "Rare Holo", lanes: one(holo(2_300, aged(pastEdge)))},
	39: {name: "Hitmonchan", rarity: "Rare Holo", lanes: one(holo(1_900, aged(stale)))},
	40: {name: "Clefairy", rarity: "Rare Holo", lanes: one(holo(2_050, aged(unknown)))},
	41: {name: "Nidoking", rarity: "Rare Holo", lanes: one(holo(2_150, aged(missing)))},
	42: {name: "Poliwrath", rarity: "Rare Holo", lanes: one(holo(1_750, until(-30)))},
	43: {name: "Chansey", rarity: "Rare Holo", lanes: one(holo(2_600, unlicensed))},
	44: {name: "Zapdos", rarity: "Rare Holo", lanes: []lane{holo(3_000, unlicensed), tracked("holofoil", "ungraded",
		2_800)}},
	45: {name: "Ninetales", rarity: "Rare Holo", lanes: []lane{holo(2_700, since(-2)), tracked("holofoil", "ungraded",
		1_900)}},
	46: {name: "Venusaur", rarity: "Rare Holo", lanes: one(holo(5_200, since(-3)))},
	47: {name: "Gyarados", rarity: "Rare Holo", lanes: one(holo(2_900, since(-10)))},
	48: {name: "Machamp", rarity: "Rare Holo", lanes: one(holo(1_450, silent(-14, -4)))},
	49: {name: "Dugtrio", rarity: "Rare", lanes: one(holo(820, silent(-9, -7)))},
	50: {name: "Electrode", rarity: "Rare", lanes: one(holo(760, silent(0, 0)))},
	51: {name: "Pidgeot", rarity: "Rare", lanes: []lane{
		plain(90), tracked("reverse_holofoil", "near_mint", 400),
		holo(310),
	}},
	52: {name: "Pikachu Illustrator", rarity: "Promo", lanes: one(holo(527_500_000, runs(flat)))},
	53: {name: "Raticate", rarity: "Rare", lanes: []lane{
		tracked("unlimited", "near_mint", 200),
		tracked("1st_edition", "near_mint", 720),
	}},
	57: {name: "Pikachu", rarity: "Common"},
	70: {name: "Boss's Orders", rarity: "Rare Holo"},
	71: {name: "Rare Candy", rarity: "Uncommon"},
	72: {name: "Porygon2", rarity: "Rare"},
	73: {name: "Porygon-Z", rarity: "Rare"},
}

// plantedOnePiece are the planted cards of the first One Piece set by place.
var plantedOnePiece = map[int]planted{
	0:   {name: "Monkey.D.Luffy", rarity: "L", lanes: one(tracked("foil", "near_mint", 450))},
	1:   {name: "Bell-mère", rarity: "C", lanes: one(plain(25))},
	2:   {name: "Eustass&quot;Captain&quot;Kid", rarity: "SR"},
	3:   {name: "I&#39;m Gonna Be King of the Seas!!", rarity: "R"},
	4:   {name: "Roronoa Zoro", rarity: "SR", lanes: allConditions("foil", 1_800, flat)},
	5:   {name: "Tony Tony.Chopper", number: "EB01-006", rarity: "SR"},
	6:   {name: "Nami", number: "P-001", rarity: "P"},
	7:   {name: "Monkey.D.Luffy", number: "ST01-001", rarity: "L"},
	8:   {name: "DON!! Card", rarity: "DON!!", without: withoutNumber},
	9:   {name: "Shanks", rarity: "SR", lanes: one(tracked("foil", "near_mint", 9_900, runs(climbing)))},
	10:  {name: "Buggy", rarity: "SR", lanes: one(tracked("foil", "near_mint", 9_900, runs(falling)))},
	11:  {name: "Baby 5", rarity: "UC"},
	118: {name: "Monkey.D.Luffy", rarity: "SEC"},
}
