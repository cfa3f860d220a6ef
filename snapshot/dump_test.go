package snapshot_test

import (
	"fmt"
	"strings"
	"testing"

	"ninepocket/internal/disk/disktest"
	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// dump writes a catalog's whole content through its accessors, a row a line: two catalogs are equal
// if their dumps are.
func dump(c *snapshot.Catalog) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	text := func(columns ...*snapshot.Strings) func(i int) string {
		return func(i int) string {
			var cells []string
			for _, s := range columns {
				cells = append(cells, fmt.Sprintf("%q", s.At(i)))
			}
			return strings.Join(cells, " ")
		}
	}

	line("at %d", c.SnapshotAt)
	row := text(&c.Games.Slug, &c.Games.Name)
	for i := range c.Games.Slug.Len() {
		line("game %s", row(i))
	}

	row = text(&c.Feeds.Namespace, &c.Feeds.Attribution, &c.Feeds.Partner)
	for i := range c.Feeds.Namespace.Len() {
		line("feed %s", row(i))
	}

	for i := range c.Variants.Len() {
		line("variant %q", c.Variants.At(i))
	}

	s := &c.Sets
	row = text(&s.ID, &s.Slug, &s.Name, &s.Series, &s.Code)
	for i := range s.ID.Len() {
		line("set %s game %d release %d cards %d", row(i), s.Game[i], s.Release[i], s.Cards[i])
		if s.Total[i] != 0 { // since format 2
			line("  total %d", s.Total[i])
		}
		for from, to := s.Aliases.Range(i); from < to; from++ {
			line("  alias %q", s.Alias.At(from))
		}
	}

	k := &c.Cards
	row = text(&k.ID, &k.Slug, &k.Name, &k.Number, &k.Rarity, &k.Printing, &k.Image)
	for i := range k.ID.Len() {
		line("card %s game %d set %d order %d updated %d product %d display %d",
			row(i), k.Game[i], k.Set[i], k.Order[i], k.UpdatedAt[i], k.Product[i], k.Display[i])
		dumpItem(line, c, i)
	}

	z := &c.Sealed
	row = text(&z.Tail, &z.Name, &z.PackageType, &z.UnitKind, &z.Edition)
	for i := range z.Tail.Len() {
		line("sealed %s game %d units %d updated %d", row(i), z.Game[i], z.Units[i], z.UpdatedAt[i])
		dumpItem(line, c, k.ID.Len()+i)
	}

	line("up %v down %v", c.Movers.Up, c.Movers.Down)
	r := &c.Registry
	for i := range r.Ref.Len() {
		line("ref %q %q", r.Ref.At(i), r.RefID.At(i))
	}

	for i := range r.Slug.Len() {
		line("former %q %q", r.Slug.At(i), r.SlugID.At(i))
	}

	return b.String()
}

func dumpItem(line func(string, ...any), c *snapshot.Catalog, item int) {
	for from, to := c.Identifiers.Of.Range(item); from < to; from++ {
		line("  identifier %q %q", c.Identifiers.Namespace.At(from), c.Identifiers.Value.At(from))
	}

	l := &c.Lanes
	for lane, to := l.Of.Range(item); lane < to; lane++ {
		line("  lane %d %s flags %d feed %d cents %d as of %d collected %d base %d %d seen %d", l.Variant[lane],
			snapshot.Condition(l.Condition[lane]).Code(), l.Flags[lane], l.Feed[lane], l.Cents[lane],
			l.SourceAsOf[lane],
			l.CollectedAt[lane], l.Price7DaysAgo[lane], l.Price30DaysAgo[lane], l.LastSeen[lane])
		line("    points %v", c.History.AppendPoints(nil, lane, 0, c.Date()))
		for w := range snapshot.StatWindows {
			if sum, ok := c.Stats.Of(lane, w); ok {
				line("    window %d %+v", w, sum)
			}
		}
	}
}

// tiny is a world small enough to damage every byte of.
var tiny = fixture.Size{Sets: 2, Cards: 3, Sealed: 1, Days: 8}

var quarantine = snapshot.WriteOptions{
	Quarantine: []byte("{\"reason\":\"bad_cents\",\"file\":\"prices.csv\"}\n{\"reason\":\"bad_cents\"," +
		"\"file\":\"more.csv\"}\n"),
	QuarantineCounts: map[string]int{"bad_cents": 2},
}

// write stores a catalog in a store and fails the test when it cannot.
func write(t testing.TB, d *snapshot.Store, c *snapshot.Catalog) *snapshot.Manifest {
	t.Helper()
	m, _, err := d.Write(c, quarantine)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// openDir is a store that does not wait for the disk.
func openDir(root string) *snapshot.Store {
	return snapshot.OpenStore(root).WithDisk(disktest.Unsynced(false))
}

func anything(*snapshot.Catalog) error { return nil }
