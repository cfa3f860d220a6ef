package loader

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// fake is a source that returns a test's records, in their order.
type fake struct {
	feed    source.Feed
	sets    []source.Set
	cards   []source.Card
	sealed  []source.Sealed
	prices  []source.Price
	series  []source.Series
	skipped []string
	refused []source.Quarantine
	missing []source.MissingFile
	fail    error
}

func (f *fake) Feed() source.Feed { return f.feed }
func (f *fake) Skipped() []string { return f.skipped }

func (f *fake) Catalog(_ context.Context, to source.Sink) error {
	for _, s := range f.sets {
		to.Set(s)
	}

	for _, c := range f.cards {
		to.Card(c)
	}

	for _, s := range f.sealed {
		to.Sealed(s)
	}

	for _, q := range f.refused {
		to.Quarantine(q)
	}

	return f.fail
}

// Prices overwrites the rows that it returned, like a source that reuses its buffers.
func (f *fake) Prices(_ context.Context, to source.Sink) error {
	to.Progress("prices", 0, int64(len(f.prices)))
	for _, p := range f.prices {
		to.Price(p)
	}
	for _, m := range f.missing {
		to.Missing(m)
	}

	for _, s := range f.series {
		s.Points = slices.Clone(s.Points)
		s.Blank = slices.Clone(s.Blank)
		to.Series(s)
		for i := range s.Points {
			s.Points[i] = snapshot.Point{Day: 1, Cents: 1}
		}
		for i := range s.Blank {
			s.Blank[i] = 1
		}
	}

	return nil
}

var errNoSuchInput = errors.New("no such input")

// buildFrom builds from fakes, whose paths are their keys.
func buildFrom(o Options, inputs map[string]*fake) (*Result, error) {
	return buildPacked(o, inputs, 0, 0)
}

// buildPacked is buildFrom with small buffers, so that few rows already make many runs; 0 for the usual ones.
func buildPacked(o Options, inputs map[string]*fake, limit, runs int) (*Result, error) {
	b, err := newBuilder(o, func(_, path string, _ source.Options) (source.Source, error) {
		if f := inputs[path]; f != nil {
			return f, nil
		}
		return nil, errNoSuchInput
	})
	if err != nil {
		return nil, err
	}

	if limit > 0 {
		b.history.Pending = limit
		b.history.Runs = runs
	}
	return b.build(context.Background())
}

// mustBuild builds and validates.
func mustBuild(t testing.TB, o Options, inputs map[string]*fake) *Result {
	t.Helper()
	r, err := buildFrom(o, inputs)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Catalog.Validate(); err != nil {
		t.Fatal(err)
	}

	return r
}

// one builds from a single source.
func one(t testing.TB, o Options, f *fake) *Result {
	t.Helper()
	o.Sources = []Input{{"native", "a"}}
	return mustBuild(t, o, map[string]*fake{"a": f})
}

// newFake is a native source with the given namespace.
func newFake(namespace string) *fake {
	return &fake{feed: source.Feed{Namespace: namespace, Attribution: "Prices by " + namespace, HasCatalog: true}}
}

func (f *fake) set(ref, name string) *fake {
	f.sets = append(f.sets, source.Set{Ref: ref, Game: "pokemon", Name: name, Release: snapshot.NoDay})
	return f
}

func (f *fake) card(ref, set, name, number string) *fake {
	f.cards = append(f.cards, source.Card{
		Ref: ref, Game: "pokemon", SetRef: set, Name: name, Number: number,
		UpdatedAt: snapshot.NoTime,
	})
	return f
}

// priceRow is a licensed near mint row of a day, collected at 20:00Z, without an observation time.
func priceRow(ref, variant string, d snapshot.Day, cents int64) source.Price {
	return source.Price{
		Ref: ref, Variant: variant, Condition: "near_mint", Day: d, Cents: cents, SourceAsOf: snapshot.NoTime,
		CollectedAt: d.Start() + archiveHour, Licensed: true,
	}
}

func (f *fake) price(rows ...source.Price) *fake {
	f.prices = append(f.prices, rows...)
	return f
}

func day(t testing.TB, s string) snapshot.Day {
	t.Helper()
	d, err := snapshot.ParseDay(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// today is the date that tests without a reason for another use.
const today = snapshot.Day(20_000)

func atDay(d snapshot.Day) time.Time { return time.UnixMilli(d.Start() + archiveHour).UTC() }

// laneView is a lane as a reader of the catalog sees it.
type laneView struct {
	Cents, AsOf, Collected, Base7, Base30 int64
	Licensed, Display                     bool
	Seen                                  snapshot.Day
	Feed                                  string
	History                               []snapshot.Point
	Stats                                 []snapshot.PriceSummary
}

// cardRow finds a card by the reference of its source, -1 for none.
func cardRow(c *snapshot.Catalog, namespace, ref string) int {
	id := idOf(c, namespace, ref, cardPrefix)
	for i := range c.Cards.ID.Len() {
		if c.Cards.ID.At(i) == id {
			return i
		}
	}
	return -1
}

// idOf looks a reference up in the registry.
func idOf(c *snapshot.Catalog, namespace, ref, prefix string) string {
	for i := range c.Registry.Ref.Len() {
		if c.Registry.Ref.At(i) == fullRef(namespace, ref) && strings.HasPrefix(c.Registry.RefID.At(i), prefix) {
			return c.Registry.RefID.At(i)
		}
	}
	return ""
}

// lanesOf reads an item's lanes, keyed "variant condition".
func lanesOf(c *snapshot.Catalog, item int) map[string]laneView {
	out := map[string]laneView{}
	from, to := c.Lanes.Of.Range(item)
	for lane := from; lane < to; lane++ {
		l := &c.Lanes
		v := laneView{
			Cents: l.Cents[lane], AsOf: l.SourceAsOf[lane], Collected: l.CollectedAt[lane],
			Base7:    l.Price7DaysAgo[lane],
			Base30:   l.Price30DaysAgo[lane],
			Licensed: l.Flags[lane]&snapshot.LaneLicensed != 0, Display: l.Flags[lane]&snapshot.LaneDisplay != 0,
			Seen: l.LastSeen[lane], Feed: c.Feeds.Namespace.At(int(l.Feed[lane])),
			History: c.History.AppendPoints(nil, lane, 0, c.Date()),
		}

		for w := range snapshot.StatWindows {
			if s, ok := c.Stats.Of(lane, w); ok {
				v.Stats = append(v.Stats, s)
			}
		}

		out[laneName(c.Variants.At(int(l.Variant[lane])), snapshot.Condition(l.Condition[lane]))] = v
	}

	return out
}

func laneName(variant string, c snapshot.Condition) string {
	return strings.TrimSpace(fmt.Sprint(variant, " ", c.Code()))
}

// lane reads one lane of a card.
func lane(t testing.TB, c *snapshot.Catalog, namespace, ref, key string) laneView {
	t.Helper()
	row := cardRow(c, namespace, ref)
	if row < 0 {
		t.Fatalf("there is no card %q", ref)
	}

	v, ok := lanesOf(c, row)[key]
	if !ok {
		t.Fatalf("card %q has no lane %q: %v", ref, key, lanesOf(c, row))
	}

	return v
}

// everything compares catalogs column by column; an empty column is an absent one.
var everything = cmp.Options{cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateEmpty()}

// sameCatalog fails when two catalogs differ; the registry is compared only on request.
func sameCatalog(t interface {
	Helper()
	Fatalf(string, ...any)
}, got, want *snapshot.Catalog, registry bool,
) {
	t.Helper()
	a := *got
	b := *want
	if !registry {
		a.Registry = snapshot.IDHistory{}
		b.Registry = snapshot.IDHistory{}
		a.Gone = snapshot.Gone{}
		b.Gone = snapshot.Gone{}
	}

	// A detailed comparison takes a hundred times as long.
	if reflect.DeepEqual(&a, &b) {
		return
	}
	if diff := cmp.Diff(&b, &a, everything); diff != "" {
		t.Fatalf("catalogs differ (-want +got):\n%s", diff)
	}
}

// sections stores a catalog and returns the checksums of its sections.
func sections(t testing.TB, r *Result) map[string]string {
	t.Helper()
	m, _, err := snapshot.OpenStore(t.TempDir()).Write(r.Catalog,
		snapshot.WriteOptions{Quarantine: r.Quarantine, QuarantineCounts: r.QuarantineCounts})
	if err != nil {
		t.Fatal(err)
	}

	sums := map[string]string{}
	for _, s := range m.Sections {
		sums[s.Name] = s.SHA256
	}

	return sums
}

// stringsOf reads a column of strings.
func stringsOf(s *snapshot.Strings) []string {
	out := make([]string, s.Len())
	for i := range out {
		out[i] = s.At(i)
	}
	return out
}
