package server

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math/rand/v2"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/cardvocab"
	"ninepocket/engine"
	"ninepocket/internal/testsweep"
	"ninepocket/loader"
	"ninepocket/site"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// appLayouts are the header rows of exports, each with the row of a copy. Its fields are %n name,
// %s set, %c number, %v printing, %q copies and %g game. A name may have a line end, and the file
// has the line ends of Windows.
var appLayouts = []struct{ name, header, row string }{
	{
		"TCGplayer app", "Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language,Rarity," +
			"Product ID,SKU",
		"%q,%n,%n,%s,%c,,%v,Near Mint,English,,,",
	},
	{
		"Collectr", "Portfolio Name,Category,Set,Product Name,Card Number,Rarity,Variance,Grade," +
			"Card Condition,Average Cost Paid,Quantity,Market Price (As of 2026-08-22),Price Override," +
			"Watchlist,Date Added,Notes",
		"Main,%g,%s,%n,%c,,%v,Ungraded,Near Mint,0,%q,0,0,false,2026-05-01,",
	},
	{
		"Dragon Shield", "\"sep=,\"\r\nFolder Name,Quantity,Trade Quantity,Card Name,Set Code,Set Name," +
			"Card Number,Condition,Printing,Language,Price Bought,Date Bought,LOW,MID,MARKET",
		"Binder,%q,0,%n,,%s,%c,NearMint,%v,English,0.00,2026-04-06,0,0,0",
	},
	{
		"Cardmarket stock", "idArticle;idProduct;English Name;Local Name;Exp.;Exp. Name;Price;Language;" +
			"Condition;Foil?;Signed?;Playset?;Altered?;Comments;Amount;onSale",
		`1;2;%n;%n;;%s;1.00;1;NM;;;;;;%q;1`,
	},
	{
		"TCGplayer pricing", "TCGplayer Id,Product Line,Set Name,Product Name,Title,Number,Rarity,Condition," +
			"TCG Market Price,TCG Direct Low,TCG Low Price With Shipping,TCG Low Price,Total Quantity," +
			"Add to Quantity,TCG Marketplace Price,Photo URL",
		"77,%g,%s,%n,,%c,,Near Mint %v,1,1,1,1,%q,0,1,",
	},
	{
		"ManaBox", "Name,Set code,Set name,Collector number,Foil,Rarity,Quantity,ManaBox ID,Scryfall ID," +
			"Purchase price,Misprint,Altered,Condition,Language,Purchase price currency",
		"%n,,%s,%c,%v,,%q,1,,1.00,false,false,near_mint,en,USD",
	},
	{
		"Moxfield", "Count,Tradelist Count,Name,Edition,Condition,Language,Foil,Tags,Last Modified," +
			"Collector Number,Alter,Proxy,Purchase Price",
		"%q,0,%n,%s,Near Mint,English,%v,,2026-05-01,%c,False,False,",
	},
	{
		"Deckbox", "Count,Tradelist Count,Name,Edition,Card Number,Condition,Language,Foil",
		"%q,0,%n,%s,%c,Near Mint,English,%v",
	},
	{
		"Archidekt", "Quantity,Name,Finish,Condition,Date Added,Language,Purchase Price,Tags,Edition Name," +
			"Edition Code,Multiverse Id,Scryfall ID,Collector Number",
		"%q,%n,%v,NM,2026-05-01,EN,1.00,,%s,,,,%c",
	},
	{
		"Cardmarket prices", "idProduct;GroupCount;Price;idLanguage;Condition;isFoil;Name;Expansion;Number",
		"7;%q;1.00;1;NM;;%n;%s;%c",
	},
	{"own sheet", "Qty,Card #,Card Name,Edition,Finish,Cond.", "%q,%c,%n,%s,%v,NM"},
}

// collection is an export of cards of a catalog, with what each row means.
type collection struct {
	text   string
	cards  []int
	copies []int
}

// collectionOf exports random cards that have a name, a set, a number and a price, with blank lines between.
func collectionOf(c *snapshot.Catalog, layout, rows int) *collection {
	app := appLayouts[layout]
	separator := ","
	if strings.Contains(app.header, ";") {
		separator = ";"
	}
	quoted := func(cell string) string {
		if strings.ContainsAny(cell, `",;`+"\n") {
			return `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		return cell
	}

	random := rand.New(rand.NewPCG(uint64(layout), uint64(rows)))
	made := &collection{}
	var text strings.Builder
	text.WriteString(app.header + "\r\n")
	for len(made.cards) < rows {
		card := random.IntN(c.Cards.ID.Len())
		set := int(c.Cards.Set[card])
		if set < 0 || c.Cards.Number.At(card) == "" || c.Cards.Display[card] < 0 {
			continue
		}
		copies := 1 + random.IntN(4)
		variant := c.Variants.At(int(c.Lanes.Variant[c.Cards.Display[card]]))
		name := c.Cards.Name.At(card)
		if random.IntN(20) == 0 {
			name = strings.Replace(name, " ", "\r\n", 1) // a cell of two lines
		}
		text.WriteString(strings.NewReplacer(
			"%n", quoted(name), "%s", quoted(c.Sets.Name.At(set)), "%c", quoted(c.Cards.Number.At(card)),
			"%v", quoted(strings.ReplaceAll(variant, "_", " ")), "%q", strconv.Itoa(copies),
			"%g", quoted(c.Games.Name.At(int(c.Cards.Game[card]))),
		).Replace(app.row) + "\r\n")
		if random.IntN(50) == 0 {
			text.WriteString([]string{"\r\n", strings.Repeat(separator, 3) + "\r\n"}[random.IntN(2)])
		}
		made.cards = append(made.cards, card)
		made.copies = append(made.copies, copies)
	}
	made.text = text.String()
	return made
}

// check compares a table with the meaning of its rows, and returns the number of priced rows and
// their total.
func (made *collection) check(tb testing.TB, v *engine.View, layout int, table [][]string) (priced int, cents int64) {
	tb.Helper()
	c := v.Catalog
	name := appLayouts[layout].name
	if len(table) != len(made.cards) {
		tb.Fatalf("%s: %d of %d rows are answered", name, len(table), len(made.cards))
	}
	for i, row := range table {
		if row[0] != strconv.Itoa(i+1) || row[2] != strconv.Itoa(made.copies[i]) {
			tb.Fatalf("%s: row %d is answered %q, want %d copies", name, i+1, row, made.copies[i])
		}
		if row[1] != "priced" {
			continue
		}

		// Another card is right where the row says nothing that is not printed of it as well.
		priced++
		card, _ := v.Index.Card(row[11])
		want := made.cards[i]
		same := card == want || c.Cards.Name.At(card) == c.Cards.Name.At(want) &&
			c.Cards.Set[card] == c.Cards.Set[want] &&
			(c.Cards.Number.At(card) == c.Cards.Number.At(want) || !strings.Contains(appLayouts[layout].row, "%c"))
		if !same {
			tb.Errorf("%s: %q of %s is taken for %s", name, row, c.Cards.ID.At(want), c.Cards.ID.At(card))
		}
		unit := centsOf(tb, row[8])
		has := false
		for lane, to := c.Lanes.Of.Range(card); lane < to; lane++ {
			variant := c.Variants.At(int(c.Lanes.Variant[lane]))
			has = has || c.Lanes.Cents[lane] == unit && cardvocab.Fold(variant) == cardvocab.Fold(row[6])
		}
		given := c.Variants.At(int(c.Lanes.Variant[c.Cards.Display[want]]))
		asked := strings.Contains(appLayouts[layout].row, "%v") && !strings.Contains(row[10], "variant")
		total := centsOf(tb, row[9])
		if !has || total != unit*int64(made.copies[i]) || asked && cardvocab.Fold(given) != cardvocab.Fold(row[6]) {
			tb.Errorf("%s: %q of %s %s has a wrong price", name, row, c.Cards.ID.At(want), given)
		}
		cents += total
	}
	return priced, cents
}

func centsOf(tb testing.TB, text string) int64 {
	tb.Helper()
	cents, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	return cents
}

// listFields is a form of fields.
func listFields(tb testing.TB, fields ...string) (body, header string) {
	tb.Helper()
	var encoded bytes.Buffer
	w := multipart.NewWriter(&encoded)
	for i := 0; i < len(fields); i += 2 {
		if err := w.WriteField(fields[i], fields[i+1]); err != nil {
			tb.Fatal(err)
		}
	}
	_ = w.Close() // a buffer takes everything
	return encoded.String(), "Content-Type: " + w.FormDataContentType()
}

// postFields posts a form of fields, each time as another visitor.
func (w *world) postFields(tb testing.TB, target string, fields ...string) reply {
	tb.Helper()
	body, header := listFields(tb, fields...)
	r, err := w.send(request{
		method: "POST", target: target, body: body, header: []string{anybody(), header, "Accept: application/json"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

// rowsReply is the response to a piece of a list.
type rowsReply struct {
	Snapshot, Kind, Warning string
	Header, Read            int
	Rows                    []struct {
		End, Copies, Cents, From, To int64
		Cells                        []string
		HTML                         string
	}
}

// inPieces values a list as the page's script does, and returns its table.
func (w *world) inPieces(tb testing.TB, version, list string) (table [][]string, warning string) {
	tb.Helper()
	list = strings.ReplaceAll(list, "\r\n", "\n")
	var header, kind string
	lines := site.RowsAtATime
	for at := 0; at < len(list); {
		end := at
		for n := 0; n < lines && end < len(list); n++ {
			next := strings.IndexByte(list[end:], '\n')
			if next < 0 {
				end = len(list)
				break
			}
			end += next + 1
		}
		last := ""
		if end == len(list) {
			last = "1"
		}
		r := w.postFields(tb, "/value/rows", "version", version, "kind", kind, "last", last,
			"before", strconv.Itoa(len(table)), "lines", header+list[at:end])
		var piece rowsReply
		if err := json.Unmarshal(r.body, &piece); err != nil || r.status != http.StatusOK {
			tb.Fatalf("status %d: %.200s %v", r.status, r.body, err)
		}
		if piece.Read == 0 {
			lines *= 4
			continue
		}

		lines = site.RowsAtATime
		before := int64(len(header))
		for _, row := range piece.Rows {
			if row.End <= before || row.End > int64(piece.Read) {
				tb.Fatalf("a row ends at %d behind %d of %d", row.End, before, piece.Read)
			}
			before = row.End
			table = append(table, row.Cells)
		}
		if at == 0 {
			kind = piece.Kind
			warning = piece.Warning
		}
		at += piece.Read - len(header)
		if header == "" && kind == "export" {
			header = list[:piece.Header]
		}
	}
	return table, warning
}

// asTable values a list without script, and returns its table.
func (w *world) asTable(tb testing.TB, list string) [][]string {
	tb.Helper()
	r := w.postFields(tb, "/value", "lines", "", "file", list, "as", "csv")
	rows, err := csv.NewReader(bytes.NewReader(r.body)).ReadAll()
	if err != nil || r.status != http.StatusOK || len(rows) == 0 {
		tb.Fatalf("status %d, %v: %.200s", r.status, err, r.body)
	}
	return rows[1:]
}

// exportsAgree values exports of every layout whole and in pieces.
func (w *world) exportsAgree(t *testing.T, sizes ...int) {
	t.Helper()
	v := w.Engine.View()
	for layout := range appLayouts {
		name := appLayouts[layout].name
		for _, size := range sizes {
			made := collectionOf(v.Catalog, layout, size)
			whole := w.asTable(t, made.text)
			priced, cents := made.check(t, v, layout, whole)
			pieces, warning := w.inPieces(t, w.Pages.ScriptVersion(), made.text)
			if _, sum := made.check(t, v, layout, pieces); sum != cents || warning != "" {
				t.Errorf("%s: %d rows come to %d whole and %d in pieces, %q", name, size, cents, sum, warning)
			}

			t.Logf("%s: %d of %d rows priced, %d cents", name, priced, size, cents)
			if priced*2 < size {
				t.Errorf("%s: only %d of %d rows are priced", name, priced, size)
			}
		}
	}
}

// TestCollections values exports of every layout of demo cards, whole and in pieces: every row is answered once, and no
// price is another card's.
func TestCollections(t *testing.T) { sharedSite().exportsAgree(t, 100, 1100) }

// TestRealCollections does the same with real cards and up to 20,000 rows.
func TestRealCollections(t *testing.T) {
	testsweep.OnlyFull(t)
	realSite(t).exportsAgree(t, 100, 1000, 5000, 20_000)
}

// realSite is a site over the real catalog.
func realSite(tb testing.TB) *world {
	tb.Helper()
	tree := filepath.Join(realDir(tb), "tcgcsv", "tcgplayer-current.tar.zst")
	if _, err := os.Stat(tree); err != nil {
		tb.Skipf("skipped: %v", err)
	}

	at := time.Date(2026, 8, 22, 20, 0, 0, 0, time.UTC)
	built, err := loader.Build(tb.Context(), loader.Options{
		Sources: []loader.Input{{Kind: "tcgcsv", Path: tree}}, CollectedAt: at, SnapshotAt: at,
	})
	if err != nil {
		tb.Fatal(err)
	}
	built.Catalog.ID = "20260822T200000Z-00000000000000aa"
	v, err := engine.NewView(built.Catalog, wire.URLs{URL: baseURL, ProductPrefix: "prd"})
	if err != nil {
		tb.Fatal(err)
	}
	return siteWorld(tb, func(s *setup) { s.views = []*engine.View{v} })
}

// TestListsAreCharged posts lists until a visitor's limit is reached. 500 rows count as a page, 100
// KiB do, too, and a list that is refused for lack of room counts as one.
func TestListsAreCharged(t *testing.T) {
	w := siteWorld(t, func(s *setup) { s.still = true })
	long := strings.Repeat("x", 1000)
	for _, c := range []struct {
		list  string
		pages int
	}{
		{"Umbreon VMAX", 1},
		{strings.Repeat("a\n", 500), 1},
		{strings.Repeat("a\n", 501), 2},
		{strings.Repeat("a\n", 20_000), 40},
		{strings.Repeat(long+"\n", 410), 5},
	} {
		body, header := listFields(t, "lines", c.list)
		visitor := anybody()
		q := request{method: "POST", target: "/value", body: body, header: []string{visitor, header}}
		for n := 0; n+c.pages <= addressBurst; n += c.pages {
			if r, err := w.send(q); err != nil || r.status != http.StatusOK {
				t.Fatalf("status %d behind %d pages, %v: %.200s", r.status, n, err, r.body)
			}
		}

		// The rest of the limit is too small for another list.
		left := addressBurst % c.pages
		r, err := w.send(q)
		wait, _ := strconv.Atoi(r.header.Get("Retry-After"))
		if err != nil || r.status != http.StatusTooManyRequests || wait < 1 || wait > (c.pages-left+1)/2 ||
			!strings.Contains(r.header.Get("Content-Type"), "text/html") {
			t.Errorf("%d bytes: status %d, wait %d, %v", len(c.list), r.status, wait, err)
		}
	}
}

// TestListRefusals wants each refusal of a list as a page that says why, and as JSON for the script.
func TestListRefusals(t *testing.T) {
	w := siteWorld(t, nil)
	w.Server.listPace = 200 * time.Millisecond
	list := listOf(100, 64<<10)
	body, header := listFields(t, "lines", list, "version", w.Pages.ScriptVersion())
	begin := func(visitor, target, accept string) *client {
		t.Helper()
		q := request{method: "POST", target: target, body: body, header: []string{visitor, header, accept}}
		slow, err := w.dial()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := slow.Write(q.bytes()[:40_000]); err != nil {
			t.Fatal(err)
		}
		return slow
	}
	check := func(r reply, err error, status int, why, accept string) {
		t.Helper()
		page := string(r.body)
		isJSON := strings.HasPrefix(r.header.Get("Content-Type"), "application/problem+json")
		wait := r.header.Get("Retry-After")
		if err != nil || r.status != status || !strings.Contains(page, why) ||
			isJSON != strings.Contains(accept, "json") || isJSON == strings.Contains(page, `role="alert"`) ||
			(wait == "") != (status == http.StatusRequestTimeout || status == http.StatusBadRequest) {
			t.Errorf("%s: status %d, %v, wait %q: %.400s", why, r.status, err, wait, page)
		}
	}

	for _, target := range []string{"/value", "/value/rows"} {
		for _, accept := range []string{"Accept: text/html", "Accept: application/json"} {
			w.Server.listPace = time.Hour
			one := anybody()
			first := begin(one, target, accept)
			w.awaitLists(t, 1)
			again := request{method: "POST", target: target, body: body, header: []string{one, header, accept}}
			r, err := w.send(again)
			check(r, err, http.StatusTooManyRequests, "Another list of this address is being read.", accept)
			second := begin(anybody(), target, accept)
			w.awaitLists(t, 2)
			again.header[0] = anybody()
			r, err = w.send(again)
			check(r, err, http.StatusServiceUnavailable, "Too many long lists are being read", accept)
			_ = first.Close()
			_ = second.Close()
			w.awaitLists(t, 0)

			w.Server.listPace = 100 * time.Millisecond
			late := begin(anybody(), target, accept)
			r, err = late.next()
			check(r, err, http.StatusRequestTimeout, "This list did not arrive in time.", accept)
			_ = late.Close()

			old, kind := listFields(t, "lines", "Umbreon VMAX", "version", "value-0.js")
			if target == "/value/rows" {
				again.body = old
				again.header = []string{anybody(), kind, accept}
				r, err = w.send(again)
				check(r, err, http.StatusBadRequest, "page is of another version", accept)
			}
		}
	}
}

// TestListTrickles sends each part of a list in time, and the whole too slowly.
func TestListTrickles(t *testing.T) {
	w := siteWorld(t, nil)
	w.Server.listPace = 200 * time.Millisecond
	body, header := listFields(t, "lines", listOf(10_000, 3<<20), "version", w.Pages.ScriptVersion())
	q := request{method: "POST", target: "/value", body: body, header: []string{anybody(), header}}
	slow, err := w.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()

	refused := make(chan reply, 1)
	go func() {
		r, err := slow.next()
		if err != nil {
			t.Error(err)
		}
		refused <- r
	}()

	// Each paceBytes comes within half of its time; all would take four times as long as they may.
	for text := q.bytes(); len(text) > 0; text = text[min(len(text), paceBytes):] {
		if _, err := slow.Write(text[:min(len(text), paceBytes)]); err != nil {
			break // it is refused
		}
		select {
		case r := <-refused:
			if r.status != http.StatusRequestTimeout {
				t.Errorf("status %d: %.300s", r.status, r.body)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	if r := <-refused; r.status != http.StatusRequestTimeout {
		t.Errorf("status %d: %.300s", r.status, r.body)
	}
}

// awaitLists waits until so many lists are being read.
func (w *world) awaitLists(tb testing.TB, want int) {
	tb.Helper()
	count := func() int {
		w.Server.listStreams.mu.Lock()
		defer w.Server.listStreams.mu.Unlock()
		return len(w.Server.listStreams.clients)
	}
	for deadline := time.Now().Add(time.Minute); count() != want; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatalf("%d lists are being read, want %d", count(), want)
		}
	}
}

// BenchmarkCollection values 5,000 rows in pieces, as the page's script asks for them.
func BenchmarkCollection(b *testing.B) {
	for name, world := range map[string]func(testing.TB) *world{
		"demo": func(testing.TB) *world { return sharedSite() }, "real": realSite,
	} {
		b.Run(name, func(b *testing.B) {
			w := world(b)
			list := collectionOf(w.Engine.View().Catalog, 0, 5000).text

			var before, after syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before) // fails for no valid argument
			for b.Loop() {
				w.inPieces(b, w.Pages.ScriptVersion(), list)
			}
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(cpu)/1e9/float64(b.N), "cpu-s/op")
		})
	}
}

// TestListsSideBySide posts 25 lists at once, and 50 of 5,000 rows when sweeps are done in full. They take
// no more memory than is reserved for lists: two are read at a time and the others are asked to
// wait. Another visitor gets a page meanwhile. The bound of memory means something only in full.
func TestListsSideBySide(t *testing.T) {
	w := siteWorld(t, nil)
	rows := 5000 / testsweep.Stride(5)
	body, header := listFields(t, "lines", "", "file", collectionOf(w.Engine.View().Catalog, 1, rows).text)
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // the heap has little more than what is used
	runtime.GC()
	var at runtime.MemStats
	runtime.ReadMemStats(&at)
	base := at.HeapAlloc

	var wg sync.WaitGroup
	var answered, waited, active atomic.Int64
	lists := 50 / testsweep.Stride(2)
	for range lists {
		active.Add(1)
		wg.Go(func() {
			defer active.Add(-1)
			q := request{method: "POST", target: "/value", body: body, header: []string{anybody(), header}}
			for {
				r, err := w.send(q)
				switch {
				case err != nil:
					t.Error(err)
					return
				case r.status == http.StatusOK && strings.Contains(string(r.body), " of "+thousands(rows)+" priced"):
					answered.Add(1)
					return
				case r.status != http.StatusServiceUnavailable || r.header.Get("Retry-After") == "" ||
					!strings.Contains(string(r.body), `role="alert"`):
					t.Errorf("status %d: %.300s", r.status, r.body)
					return
				}
				waited.Add(1)
				time.Sleep(400 * time.Millisecond) // the visitor has a page for each half second, and 60 at once
			}
		})
	}

	var peak uint64
	var slowest time.Duration
	pages := 0
	for active.Load() > 0 {
		begun := time.Now()
		if r := w.page(t, "/"); r.status != http.StatusOK {
			t.Fatalf("status %d of another page", r.status)
		}
		slowest = max(slowest, time.Since(begun))
		pages++
		runtime.ReadMemStats(&at)
		peak = max(peak, at.HeapAlloc)
		time.Sleep(time.Millisecond)
	}
	wg.Wait()
	t.Logf("%d answered, %d refusals; %.1f MiB more at most; %d other pages, the slowest in %v", answered.Load(),
		waited.Load(), float64(peak-min(base, peak))/(1<<20), pages, slowest)
	const room = 64 << 20
	clients := uint64(lists * 2 * len(body)) // of this process have the form and a copy of it
	if answered.Load() != int64(lists) || waited.Load() == 0 || peak > base+base/10+room+clients {
		t.Errorf("%d answered, %d waited, %d bytes at most above %d", answered.Load(), waited.Load(), peak, base)
	}
}
