package loader

import (
	"cmp"
	"errors"
	"slices"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// maxFeeds is how many feeds the lanes' feed column can distinguish.
const maxFeeds = 255

// noFeed is the row of a feed without records in the catalog.
const noFeed = maxFeeds

// feed is a price feed: who to attribute an observation to.
type feed struct {
	namespace, attribution, partner string
	catalog                         bool // it is a source of the catalog, and listed although it may have no lane
}

// listFeeds lists the feeds in order of authority: the sources as given, then the feeds of the base
// in its order, then the others as given. If several feeds price a lane, the first stands and the
// others are not used.
func (b *builder) listFeeds(sources, prices []openInput) error {
	for _, opened := range sources {
		if opened.Feed().HasCatalog {
			b.addFeed(opened.Feed(), true)
		}
	}

	// Without a source, the base's catalog is carried over, and with it all its feeds.
	whole := len(b.feeds) == 0
	before := &b.o.Base.Feeds
	for i := range before.Namespace.Len() {
		b.addFeed(source.Feed{
			Namespace: before.Namespace.At(i), Attribution: before.Attribution.At(i), Partner: before.Partner.At(i),
		}, whole)
		// The operator's present settings of an input take precedence over the base's.
		if _, stated := b.reserved[before.Namespace.At(i)]; !stated {
			b.reserved[before.Namespace.At(i)] = slices.Contains(b.o.Base.Reserved, uint8(i))
		}
	}

	for _, in := range slices.Concat(sources, prices) {
		b.addFeed(in.Feed(), false)
	}

	if len(b.feeds) > maxFeeds {
		return errors.New("cannot build a catalog: there are more than 255 feeds")
	}

	b.newest = make(newestDays, len(b.feeds))
	for i := range b.newest {
		b.newest[i] = slices.Repeat([]snapshot.Day{snapshot.NoDay}, len(snapshot.Games))
	}

	return nil
}

// addFeed lists a feed once. Several inputs of one feed complete its data, and never replace it.
func (b *builder) addFeed(from source.Feed, catalog bool) {
	i := b.feedAt(from.Namespace)
	if i < 0 {
		i = len(b.feeds)
		b.feeds = append(b.feeds, feed{namespace: from.Namespace})
	}

	to := &b.feeds[i]
	// The first input of a feed has the last word.
	to.attribution = cmp.Or(to.attribution, from.Attribution)
	to.partner = cmp.Or(to.partner, from.Partner)
	to.catalog = to.catalog || catalog
}

// feedAt is where a feed is listed, -1 for nowhere.
func (b *builder) feedAt(namespace string) int {
	return slices.IndexFunc(b.feeds, func(f feed) bool { return f.namespace == namespace })
}

// feedOf is the number of a feed that is listed.
func (b *builder) feedOf(namespace string) uint8 { return uint8(max(0, b.feedAt(namespace))) }

// carryLanes enters the lanes of the base whose items are still in the catalog, each with its
// newest row.
func (b *builder) carryLanes() {
	base := b.o.Base
	feeds := make([]uint8, base.Feeds.Namespace.Len())
	for i := range feeds {
		feeds[i] = b.feedOf(base.Feeds.Namespace.At(i))
	}

	// Variants and items have other numbers here than in the base.
	names := make([]uint16, base.Variants.Len())
	for i := range names {
		names[i], _ = b.variants.number(base.Variants.At(i))
	}

	// Games are numbered by the table of this program, which may have more than the base's.
	for i, row := range slices.Concat(base.Cards.Game, base.Sealed.Game) {
		game := b.baseGames[row]
		for lane, to := base.Lanes.Of.Range(i); lane < to; lane++ {
			feed := feeds[base.Lanes.Feed[lane]]
			// Lanes of items that left also show the newest day of their feed.
			b.newest.observe(feed, game, base.Lanes.LastSeen[lane])
			if b.itemOf[i] >= 0 {
				b.carryLane(lane, b.itemOf[i], names[base.Lanes.Variant[lane]], feed)
			}
		}
	}
}

func (b *builder) carryLane(baseLane int, item int32, variant uint16, feed uint8) {
	lanes := &b.o.Base.Lanes
	lane := b.lanes.getOrAdd(laneKey{item, variant, lanes.Condition[baseLane], feed})

	if l := &b.lanes.all[lane]; l.base < 0 {
		l.base = int32(baseLane)
	} else {
		// If two cards of the base are one now, their histories are one, too. The lane that was seen last
		// has the current price.
		earlier := baseLane
		if lanes.LastSeen[baseLane] > lanes.LastSeen[l.base] {
			earlier = int(l.base)
			l.base = int32(baseLane)
		}
		points := b.o.Base.History.AppendPoints(nil, earlier, 0, b.o.Base.Date())
		for _, point := range points {
			b.history.AddDaily(lane, point.Day, point.Cents, len(b.lanes.all))
		}
	}

	b.lanes.observe(lane, row{
		day: lanes.LastSeen[baseLane], cents: lanes.Cents[baseLane], asOf: lanes.SourceAsOf[baseLane],
		collected: lanes.CollectedAt[baseLane], licensed: lanes.Flags[baseLane]&snapshot.LaneLicensed != 0,
		layer: layerBase,
	})
}

// indexBase finds the base's items by their ids, and by the rows of its registry.
func (b *builder) indexBase() {
	ids := b.idsOfBase()
	b.rowOfID = make(map[string]int32, len(ids))
	for row, id := range ids {
		b.rowOfID[id] = int32(row)
	}

	registry := &b.o.Base.Registry
	b.rowOfRef = make([]int32, registry.Ref.Len())
	for i := range b.rowOfRef {
		b.rowOfRef[i] = b.baseRow(registry.RefID.At(i))
	}
}

// baseRow is the item of the base that has an id, -1 for none.
func (b *builder) baseRow(id string) int32 {
	if row, has := b.rowOfID[id]; has {
		return row
	}
	return -1
}

// findItemsOfBase finds the base's items in the new catalog by their ids or, where they were joined with
// another item, by their references; -1 for those that left. An item that became sealed, or a card, has
// other lanes and starts again.
func (b *builder) findItemsOfBase() {
	base := b.o.Base
	b.itemOf = slices.Repeat([]int32{-1}, base.NumItems())
	b.staying = make([]bool, base.NumItems())
	b.rowOf = make([]int32, b.merged.numItems())
	for i := range b.rowOf {
		row := b.baseRow(b.merged.idOf(i))
		b.rowOf[i] = row
		if row >= 0 {
			b.itemOf[row] = int32(i)
			b.staying[row] = true
		}
	}

	// On a usual day all stay.
	if !slices.Contains(b.staying, false) {
		return
	}

	// An id that is still somebody's counts more than a reference that had it.
	byRef := b.merged.itemsByRef()
	for i, row := range b.rowOfRef {
		if row < 0 || b.staying[row] {
			continue
		}
		at, listed := byRef[base.Registry.Ref.At(i)]
		if listed && (int(at) < len(b.merged.cards)) == (int(row) < base.Cards.ID.Len()) {
			b.itemOf[row] = at
		}
	}
}

// idsOfBase are the ids of the base's items in its own numbering: its cards, then its sealed products.
func (b *builder) idsOfBase() (ids []string) {
	ids = slices.Collect(b.o.Base.Cards.ID.All())
	for tail := range b.o.Base.Sealed.Tail.All() {
		ids = append(ids, sealedPrefix+tail)
	}
	return ids
}
