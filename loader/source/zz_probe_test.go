package source

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

type countSink struct {
	sets, cards, sealed, prices, series, points, blanks, quar int
	reasons map[string]int
	sample  map[string]Quarantine
}

func (c *countSink) Set(Set)       { c.sets++ }
func (c *countSink) Card(Card)     { c.cards++ }
func (c *countSink) Sealed(Sealed) { c.sealed++ }
func (c *countSink) Price(Price)   { c.prices++ }
func (c *countSink) Series(s Series) {
	c.series++
	c.points += len(s.Points)
	c.blanks += len(s.Blank)
}
func (c *countSink) Quarantine(q Quarantine) {
	c.quar++
	if c.reasons == nil {
		c.reasons = map[string]int{}
		c.sample = map[string]Quarantine{}
	}
	c.reasons[q.Reason]++
	c.sample[q.Reason] = q
}
func (c *countSink) Progress(string, int64, int64) {}

func TestProbe(t *testing.T) {
	if os.Getenv("PROBE") == "" {
		t.Skip()
	}
	d := "/work/shared/data/"
	for _, x := range [][2]string{
		{KindTCGCSV, "/tmp/data/tcg"}, {KindTCGCSV, "/tmp/data/tcg/tcgplayer"}, {KindTCGCSV, d + "tcgcsv/tcgplayer-current.tar.zst"},
		{KindTCGCSV, d + "tcgcsv/archive/prices-2026-04-20.tar.zst"}, {KindTCGCSV, d + "tcgcsv/archive/prices-2026-04-20.ppmd.7z"}, {KindTCGCSV, d + "tcgcsv/archive"}, {KindTCGCSV, d + "tcgcsv"},
		{KindTCGCSV, "/tmp/data/arch"}, {KindTCGCSV, "/tmp/data/arch/2026-04-20"},
		{KindTCGCSV, d + "price-history/pokemon-daily-250d-by-productId.csv.zst"},
		{KindTCGCSV, d + "price-history/onepiece-daily-366d-by-productId.csv.zst"},
		{KindTCGCSV, d + "price-history/pokemon-sealed-610d-by-productId.csv.zst"},
		{KindPokemonTCG, d + "price-history/pokemon-weekly-130w-by-pokemontcg-id.csv.zst"},
		{KindPokemonTCG, d + "pokemon-tcg-data/pokemon-tcg-data-en.tar.zst"}, {KindPokemonTCG, "/tmp/data/ptcg"},
		{KindPunkRecords, d + "punk-records/punk-records-english.tar.zst"}, {KindPunkRecords, "/tmp/data/punk"}, {KindPunkRecords, "/tmp/data/punk/english"},
	} {
		start := time.Now()
		s, err := Open(x[0], x[1], Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		opened := time.Since(start)
		c := &countSink{}
		start = time.Now()
		if err := s.Catalog(context.Background(), c); err != nil {
			t.Error(err)
		}
		cat := time.Since(start)
		start = time.Now()
		if err := s.Prices(context.Background(), c); err != nil {
			t.Error(err)
		}
		sk := 0
		if k, ok := s.(Skipper); ok && len(k.Skipped()) > 0 {
			sk = len(k.Skipped()[0].Refs)
		}
		fmt.Printf("%s\n  open %v catalog %v prices %v: %+v skipped %d\n", x[1], opened, cat, time.Since(start), *c, sk)
	}
}
