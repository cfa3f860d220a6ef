package loader

import (
	"cmp"
	"slices"

	"ninepocket/cardvocab"
	"ninepocket/loader/history"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// assembly is the last step of a build: everything is known, and the columns are written in their
// final order.
type assembly struct {
	b    *builder
	c    *snapshot.Catalog
	date snapshot.Day

	setAt  []int32  // set → row
	cards  []int32  // row → card
	sealed []int32  // row → sealed product
	rank   []uint32 // card → rank in catalog order
	game   []uint8  // game → row
	has    []bool   // game → whether the catalog has any of its records

	lanes       [][]int32 // item → its lanes, in order; of several feeds' the first
	variant     []uint16  // variant → row
	feedAt      []uint8
	displayLane []int32 // item → lane of the display price, -1 when unpriced

	groups map[string]snapshot.Day // full reference of a group that lacks its newest day → the day it has last
	seen   map[feedGame]*[snapshot.HistoryDays]bool
	// readDays are the days, up to the base's, that this build read a group of: the base's points of
	// these days are replaced, by feed and group.
	readDays map[feedGroup][]snapshot.Day

	r      *history.Reader
	from   snapshot.Day     // the first date of the history
	list   []uint32         // lane → list of the history
	points []snapshot.Point // of the lane that was written last, from recent on
	recent snapshot.Day     // the first date that statistics and changes need
	shown  []snapshot.Point // the points of the variant's display lane
}

// assemble writes the catalog at an instant.
func (b *builder) assemble(at int64) *snapshot.Catalog {
	a := &assembly{b: b, c: &snapshot.Catalog{SnapshotAt: at}, date: snapshot.DayOf(at)}
	a.seen = map[feedGame]*[snapshot.HistoryDays]bool{}
	a.from = snapshot.WindowStart(a.date, snapshot.HistoryDays)
	// The longest window holds the shorter ones, and the prices that changes compare with.
	a.recent = snapshot.WindowStart(a.date, snapshot.StatWindows[len(snapshot.StatWindows)-1])
	a.r = b.history.Read(b.o.Base, len(b.lanes.all), a.from, a.date)
	a.findGroups()

	// Every step needs those before it: sets get rows before cards, and prices decide their order.
	a.writeGames()
	a.writeSets()
	a.chooseLanes()
	a.orderCards()
	a.writeCards()
	a.writeSealed()
	a.writeFeeds()
	a.writeHistory()
	a.writeLanes()
	a.writeGaps()
	a.writeUnlisted()
	a.writeUnclaimed()
	a.writeGone()
	a.writePrior()
	a.writeAliases()
	a.writeNames()
	a.c.Movers = findMovers(a.c)
	a.c.Registry = b.idHistory()
	a.fillReport()
	return a.c
}

// writeGames lists the games with records in the catalog, in the order of decision 22.
func (a *assembly) writeGames() {
	a.has = a.b.merged.games()
	// A game without a card or product is not listed.
	a.game = make([]uint8, len(a.has))
	for g, game := range snapshot.Games {
		if a.has[g] {
			a.game[g] = uint8(a.c.Games.Slug.Len())
			a.c.Games.Slug.Append(game.Slug)
			a.c.Games.Name.Append(game.Name)
		}
	}
}

// writeSets writes the sets in the order of decision 22: newest first, without a date last, then
// name and id.
func (a *assembly) writeSets() {
	sets := a.b.merged.sets
	order := upTo(len(sets))
	slices.SortFunc(order, func(x, y int32) int {
		set := &sets[x]
		other := &sets[y]
		return cmp.Or(cmp.Compare(other.release, set.release), cmp.Compare(set.name, other.name),
			cmp.Compare(set.tail, other.tail))
	})

	a.setAt = make([]int32, len(sets))
	setTable := &a.c.Sets
	setTable.Cards = make([]uint32, len(sets))

	for row, i := range order {
		from := &sets[i]
		a.setAt[i] = int32(row)
		setTable.ID.Append(setPrefix, from.tail)
		setTable.Slug.Append(from.slug)
		setTable.Name.Append(from.name)
		setTable.Series.Append(from.series)
		setTable.Code.Append(from.code)
		setTable.Game = append(setTable.Game, a.game[from.game])
		setTable.Release = append(setTable.Release, from.release)
		setTable.Total = append(setTable.Total, uint16(from.total))
		for _, alias := range from.otherNames() {
			setTable.Alias.Append(alias)
		}

		setTable.Aliases.Append(setTable.Alias.Len())
	}

	// Cards are counted by where their sets went.
	for i := range a.b.merged.cards {
		if set := a.b.merged.cards[i].set; set >= 0 {
			setTable.Cards[a.setAt[set]]++
		}
	}
}

// upTo are 0 to n-1.
func upTo(n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}

// otherNames are a set's aliases other than its searchable names, sorted.
func (s *set) otherNames() []string {
	others := slices.DeleteFunc(slices.Sorted(slices.Values(s.aliases)), func(alias string) bool {
		return alias == setPrefix+s.tail || alias == s.slug || alias == s.code || alias == s.name
	})
	return slices.Compact(others)
}

// orderCards numbers the cards. They are ordered by display price, the most expensive first and unpriced
// last, then in catalog order: set, natural number and id (decision 22).
func (a *assembly) orderCards() {
	cards := a.b.merged.cards
	setOf := make([]int32, len(cards)) // by row; cards without a set come last
	for i := range cards {
		setOf[i] = int32(len(a.setAt))
		if set := cards[i].set; set >= 0 {
			setOf[i] = a.setAt[set]
		}
	}

	order := upTo(len(cards))
	slices.SortFunc(order, func(x, y int32) int {
		if c := cmp.Compare(setOf[x], setOf[y]); c != 0 {
			return c
		}
		card := &cards[x]
		other := &cards[y]
		return cmp.Or(cardvocab.CompareNumbers(card.number, other.number), cmp.Compare(card.tail, other.tail))
	})

	// The rank in catalog order breaks the ties of prices below, and is a separate column.
	a.rank = make([]uint32, len(cards))
	for rank, i := range order {
		a.rank[i] = uint32(rank)
	}

	// A card's number is its rank by price, so that a price range is a range of numbers.
	price := make([]int64, len(cards))
	for i := range price {
		price[i] = snapshot.NoCents
		if lane := a.displayLane[i]; lane >= 0 {
			price[i] = a.b.lanes.all[lane].cents
		}
	}

	slices.SortFunc(order, func(x, y int32) int {
		return cmp.Or(cmp.Compare(price[y], price[x]), cmp.Compare(a.rank[x], a.rank[y]))
	})
	a.cards = order
	// Sealed products are few and only looked up: their order is that of their ids.
	a.sealed = upTo(len(a.b.merged.sealed))
	slices.SortFunc(a.sealed, func(x, y int32) int {
		return cmp.Compare(a.b.merged.sealed[x].tail, a.b.merged.sealed[y].tail)
	})
}

func (a *assembly) writeCards() {
	cards := &a.c.Cards
	for _, i := range a.cards {
		from := &a.b.merged.cards[i]
		cards.ID.Append(cardPrefix, from.tail)
		cards.Slug.Append(from.slug)
		cards.Name.Append(from.name)
		cards.Number.Append(from.number)
		cards.Rarity.Append(from.rarity)
		cards.Printing.Append(from.printing)
		cards.Image.Append(a.b.pictures.fileFor(from))
		cards.Game = append(cards.Game, a.game[from.game])
		set := snapshot.NoSet
		release := snapshot.NoDay
		if from.set >= 0 {
			set = a.setAt[from.set]
			release = a.b.merged.sets[from.set].release
		}

		cards.Set = append(cards.Set, set)
		cards.Order = append(cards.Order, a.rank[i])
		cards.UpdatedAt = append(cards.UpdatedAt, a.updatedAt(from.updatedAt, release))
		// A flag, because the format has no booleans.
		var product uint8
		if from.product {
			product = 1
		}

		cards.Product = append(cards.Product, product)
		a.writeIdentifiers(&from.item)
	}
}

// updatedAt is the time of an entry's last change. Without it in the source, it is the release
// of the card's set, or else the snapshot's own time.
func (a *assembly) updatedAt(stated int64, release snapshot.Day) int64 {
	switch {
	case stated != snapshot.NoTime:
		return stated
	case release != snapshot.NoDay && release >= 0 && release <= a.date:
		return release.Start()
	}
	return a.c.SnapshotAt
}

func (a *assembly) writeSealed() {
	sealed := &a.c.Sealed
	for _, i := range a.sealed {
		from := &a.b.merged.sealed[i]
		sealed.Tail.Append(from.tail)
		sealed.Name.Append(from.name)
		sealed.PackageType.Append(from.packageType)
		sealed.UnitKind.Append(from.unitKind)
		sealed.Edition.Append(from.edition)
		sealed.Game = append(sealed.Game, a.game[from.game])
		sealed.Units = append(sealed.Units, uint32(from.units))
		sealed.UpdatedAt = append(sealed.UpdatedAt, a.updatedAt(from.updatedAt, snapshot.NoDay))
		a.writeIdentifiers(&from.item)
	}
}

// writeIdentifiers writes an item's aliases, sorted, so that their order in the sources does not
// matter.
func (a *assembly) writeIdentifiers(it *item) {
	ids := slices.Clone(it.identifiers)
	slices.SortFunc(ids, func(x, y source.Identifier) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Value, y.Value))
	})
	identifiers := &a.c.Identifiers
	for _, id := range ids {
		identifiers.Namespace.Append(id.Namespace)
		identifiers.Value.Append(id.Value)
	}

	identifiers.Of.Append(identifiers.Value.Len())
}
