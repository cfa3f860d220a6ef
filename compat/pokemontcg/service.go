package pokemontcg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// Service serves the API from the current View of an engine.
type Service struct {
	store *snapshot.Store
	dir   string
	log   *slog.Logger
	state atomic.Pointer[state]
}

// state is the records of a View, and where the catalog has their prices.
type state struct {
	*records
	view *engine.View
	// card is the catalog's card of each record, -1 for none.
	card   []int32
	quotes snapshot.Quotes
	// keys are the API's names for the variants of the catalog.
	keys []string
	// columns are the requested prices of all records, by field.
	columns sync.Map
}

// New returns a service of a store's snapshots, which makes its indexes in a folder dir. It is not ready
// before Prepare.
func New(store *snapshot.Store, dir string, log *slog.Logger) *Service {
	return &Service{store: store, dir: dir, log: log}
}

// Follow prepares each View that becomes the current View, until the context ends. Until a View is ready, the
// previous View is served. Follow calls tried when the first View is ready or failed. It looks again for each
// message on swapped.
func (s *Service) Follow(ctx context.Context, current func() *engine.View, swapped <-chan struct{}, tried func()) {
	_ = os.RemoveAll(s.dir) // remains of a crash; the next index reports a fault of the folder
	for {
		view := current()
		if err := s.Prepare(ctx, view); err != nil && ctx.Err() == nil {
			s.log.Error("Pokémon TCG API: cannot serve this snapshot", slog.String("snapshot_id", view.ID),
				slog.Any("cause", err))
		}
		tried()
		tried = func() {}

		select {
		case <-ctx.Done():
			return
		case <-swapped:
		}
	}
}

// Prepare makes a View the served View. It reads and indexes cards only if they have changed. One goroutine
// calls it.
func (s *Service) Prepare(ctx context.Context, view *engine.View) error {
	now := s.state.Load()
	if now != nil && now.view == view {
		return nil
	}
	manifest, err := s.store.Manifest(view.ID)
	if err != nil {
		return err
	}
	key := manifest.CompanionKey()
	var known *snapshot.Companion
	if now != nil && now.key == key {
		known = &now.from
	}
	companion, err := snapshot.LoadCompanion(ctx, s.store, view.ID, len(view.Catalog.Lanes.Cents), known)
	if errors.Is(err, snapshot.ErrNoCompanion) {
		return fmt.Errorf("%w: build with a source pokemon-tcg-data:PATH", err)
	}
	if err != nil {
		return err
	}

	next := &state{view: view, quotes: companion.Quotes}
	if known != nil {
		next.records = now.records
	} else {
		next.records, err = newRecords(ctx, key, companion, s.dir)
		// Several times the memory of the index was used to make it.
		debug.FreeOSMemory()
	}
	if err != nil {
		return err
	}

	// Numbers of cards differ between snapshots, and variants do, too.
	next.card = make([]int32, next.cards.n)
	for doc := range next.card {
		next.card[doc] = cardOf(view, next.from.Cards.Ref.At(doc))
	}
	for variant := range view.Catalog.Variants.All() {
		next.keys = append(next.keys, printing(variant))
	}
	s.state.Store(next)
	return nil
}

// cardOf finds the catalog's card of an id of this API, -1 for none.
func cardOf(view *engine.View, ref string) int32 {
	if card, own := view.Index.Card(ref); own {
		return int32(card)
	}
	cards := view.Index.ByIdentifier(snapshot.PublicNamespace(storedNamespace) + ":" + ref)
	if len(cards) == 0 {
		return -1
	}
	return int32(cards[0])
}

// printing is the API's name for a variant: 1st_edition is 1stEditionNormal.
func printing(variant string) string {
	first, rest, _ := strings.Cut(variant, "_")
	var b strings.Builder
	b.WriteString(first)
	for word := range strings.SplitSeq(rest, "_") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	if variant == "1st_edition" {
		b.WriteString("Normal")
	}
	return b.String()
}

// priceNames are the prices of a printing, in the order of a response.
var priceNames = [...]string{"low", "mid", "high", "market", "directLow"}

// quote is the known prices of a lane in cents, by priceNames.
type quote [len(priceNames)]int64

// quotesOf yields the prices of a record's card by printing.
func (s *state) quotesOf(doc uint32, lanes []int, yield func(key string, lane int, known quote)) {
	card := s.card[doc]
	if card < 0 {
		return
	}

	catalog := s.view.Catalog
	for _, lane := range shownLanes(catalog, int(card), lanes) {
		const none = snapshot.NoCents
		market := catalog.Lanes.Cents[lane]
		known := quote{none, none, none, market, none}
		if row, found := slices.BinarySearch(s.quotes.Lane, uint32(lane)); found {
			known = quote{s.quotes.Low[row], s.quotes.Mid[row], s.quotes.High[row], market, s.quotes.Direct[row]}
		}

		// A lane may have a history alone.
		if slices.Max(known[:]) >= 0 {
			yield(s.keys[catalog.Lanes.Variant[lane]], lane, known)
		}
	}
}

// priceFields begin the fields that are prices.
const priceFields = "tcgplayer.prices."

// isPrice reports whether a field is a price of a printing that the catalog has.
func (s *state) isPrice(field string) bool {
	rest, ok := strings.CutPrefix(field, priceFields)
	key, name, _ := strings.Cut(rest, ".")
	return ok && slices.Contains(priceNames[:], name) && key != "" && slices.Contains(s.keys, key)
}

// priceOf yields the prices of a field in dollars.
func (s *state) priceOf(field string, yield func(doc uint32, n float64)) {
	for doc, price := range s.column(field) {
		if price >= 0 {
			yield(uint32(doc), float64(price)/100)
		}
	}
}

// column is a price of each record in cents. It is made once, so that a query of many prices is no more work
// than one of many numbers.
func (s *state) column(field string) []int64 {
	if made, ok := s.columns.Load(field); ok {
		column, _ := made.([]int64) // nothing else is in it
		return column
	}

	key, name, _ := strings.Cut(strings.TrimPrefix(field, priceFields), ".")
	kind := slices.Index(priceNames[:], name)
	column := slices.Repeat([]int64{snapshot.NoCents}, len(s.card))
	// No card has more variants: a slice of this array is not allocated for each.
	var lanes [16]int
	for doc := range s.card {
		s.quotesOf(uint32(doc), lanes[:0], func(of string, _ int, known quote) {
			if of == key {
				column[doc] = known[kind]
			}
		})
	}
	s.columns.Store(field, column)
	return column
}

// appendCard appends a whole card.
func (s *state) appendCard(dst []byte, doc uint32) []byte {
	dst = s.appendOwn(dst, doc)
	dst = append(dst, `,"set":`...)
	dst = append(dst, s.setJSON(int(s.from.Cards.Set[doc]))...)
	return append(s.appendPrices(dst, doc), '}')
}

// appendOwn appends the record's text of its card, with the operator's picture if there is one.
func (s *state) appendOwn(dst []byte, doc uint32) []byte {
	own := s.cardJSON(int(doc))
	site := s.view.Site()
	card := s.card[doc]
	if card < 0 || !site.ShowsImage(s.view.Catalog.Cards.Image.At(int(card))) {
		return append(dst, own[:len(own)-1]...)
	}

	// Quotes in texts are escaped: this is the member, which is the last one.
	text := string(own[:len(own)-1])
	text, _, _ = strings.Cut(text, `,"images":`)
	dst = append(dst, text...)
	file := s.view.Catalog.Cards.Image.At(int(card))
	for _, name := range []string{`,"images":{"small":`, `,"large":`} {
		dst = wire.AppendText(dst, name, site.Images)
		dst = append(wire.AppendEscaped(dst[:len(dst)-1], file), '"')
	}
	return append(dst, '}')
}

// appendPrices appends the member tcgplayer of a card, unless nothing is known.
func (s *state) appendPrices(dst []byte, doc uint32) []byte {
	begin := len(dst)
	catalog := s.view.Catalog
	collected := snapshot.NoTime
	var lanes [16]int
	s.quotesOf(doc, lanes[:0], func(key string, lane int, known quote) {
		if len(dst) == begin {
			dst = append(dst, `,"tcgplayer":{"prices":{`...)
		}
		collected = max(collected, catalog.Lanes.CollectedAt[lane])
		dst = append(wire.AppendString(comma(dst), key), ":{"...)
		for k, name := range priceNames {
			dst = append(wire.AppendString(comma(dst), name), ':')
			dst = appendDollars(dst, known[k])
		}
		dst = append(dst, '}')
	})
	if len(dst) == begin {
		return dst
	}

	// Prices were seen when they were collected, at the latest on the day of the snapshot.
	day := catalog.Date()
	if collected != snapshot.NoTime {
		day = snapshot.DayOf(collected)
	}
	dst = wire.AppendText(dst, `},"updatedAt":`, slashes(day))
	return append(s.view.Site().AppendCardURL(dst, catalog, int(s.card[doc])), '}')
}

// appendDollars appends cents as dollars, null for none.
func appendDollars(dst []byte, cents int64) []byte {
	if cents < 0 {
		return append(dst, "null"...)
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	if rest := cents % 100; rest > 0 {
		dst = append(dst, '.', byte('0'+rest/10))
		if rest%10 > 0 {
			dst = append(dst, byte('0'+rest%10))
		}
	}
	return dst
}

// comma separates a member or an element from the previous one, if there is any.
func comma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '[' || last == '{' {
		return dst
	}
	return append(dst, ',')
}
