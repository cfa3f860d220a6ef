package api

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// randomResults returns what any snapshot may lead to.
func randomResults(random *rand.Rand, n int) (at int64, results []wire.PriceResult) {
	at = random.Int64N(4e12)
	for range n {
		r := wire.PriceResult{Missing: wire.MissingReason(random.IntN(len(wire.MissingReasons)))}
		if r.Missing == wire.HasPrice {
			r.Cents = random.Int64N(1 << random.IntN(40))
			r.AsOf = at - random.Int64N(1e9)
			r.CollectedAt = at - random.Int64N(1e6)
			r.Attribution = []string{"", "Prices by A", `"B"`, "Ünïcode"}[random.IntN(4)]
			if random.IntN(4) == 0 {
				r.AsOf = snapshot.NoTime
			}
		}
		results = append(results, r)
	}
	return at, results
}

// TestStoredPrices stores results, reads them back, and wants the same response. A stored response that
// was cut, or that is of another number of selections, is none.
func TestStoredPrices(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + random.IntN(wire.MaxSelections)
		at, results := randomResults(random, n)
		selections := make([]wire.Selection, n)
		for i := range selections {
			selections[i] = wire.Selection{Kind: "card", ProductID: "prd_" + string(rune('a'+i))}
		}

		first := Reply{SnapshotAt: at}
		encodePrices(&Request{selections: selections, results: results}, &first)
		stored := appendStored(nil, at, results)
		again := &Request{selections: selections}
		var out Reply
		ok := restorePrices(again, &out, stored)

		if !ok || out.SnapshotAt != at || !slices.Equal(again.results, results) {
			t.Fatalf("%+v was read as %+v, %v", results, again.results, ok)
		}
		if string(out.Body) != string(first.Body) {
			t.Fatalf("%s was repeated as %s", first.Body, out.Body)
		}

		cut := stored[:random.IntN(len(stored))]
		if restorePrices(&Request{selections: selections}, &Reply{}, cut) {
			t.Fatalf("%d of %d bytes were read", len(cut), len(stored))
		}
		if restorePrices(&Request{selections: selections[1:]}, &Reply{}, stored) {
			t.Fatal("a response of one selection more was read")
		}
	}
}

// TestStoredText stores the text of a response, as a fleet and early versions do, and repeats it from there.
func TestStoredText(t *testing.T) {
	view := testView(t)
	selections := []wire.Selection{{Kind: "sealed", ProductID: "prd_none"}}
	first := Reply{}
	r := &Request{Service: &Service{StoresText: true}, View: view, selections: selections}
	if f := priceSelections(r, &first); f != nil {
		t.Fatal(f)
	}

	want := binary.BigEndian.AppendUint64(nil, uint64(view.Catalog.SnapshotAt))
	want = append(want, first.Body[len(dataStart):]...)
	var out Reply
	ok := restorePrices(&Request{}, &out, first.Stored)
	if !ok || string(first.Stored) != string(want) || string(out.Body) != string(first.Body) ||
		out.SnapshotAt != view.Catalog.SnapshotAt {
		t.Fatalf("%s was stored as %q, and %d: %s repeated", first.Body, first.Stored, out.SnapshotAt, out.Body)
	}
	for n := range len(dataStart) + 1 {
		if restorePrices(&Request{}, &Reply{}, first.Stored[:n]) {
			t.Fatalf("%d bytes were read", n)
		}
	}
	if restorePrices(&Request{}, &Reply{}, bytes.Repeat([]byte{0x80}, 20)) {
		t.Fatal("a number without an end was read as a text")
	}
}

// FuzzStoredPrices gives any bytes as a stored response. What is read leads to the same bytes' results
// when it is stored again.
func FuzzStoredPrices(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	f.Add(appendStored(nil, 1_800_000_000_000, nil))
	at, results := randomResults(random, 2)
	f.Add(appendStored(nil, at, results))
	f.Fuzz(func(t *testing.T, stored []byte) {
		r := &Request{selections: make([]wire.Selection, 2)}
		var out Reply
		if !restorePrices(r, &out, stored) || len(r.results) == 0 {
			return
		}

		again := &Request{selections: r.selections}
		if !restorePrices(again, &Reply{}, appendStored(nil, out.SnapshotAt, r.results)) ||
			!slices.Equal(again.results, r.results) {
			t.Fatalf("%+v was read as %+v", r.results, again.results)
		}
	})
}
