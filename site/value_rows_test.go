package site_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"ninepocket/site"
)

// piece is the part of a response that the script reads.
type piece struct {
	Kind, Warning string
	Header, Read  int
	Rows          []struct {
		End   int
		Cells []string
	}
}

// wholeTable values a list at once.
func (w *world) wholeTable(tb testing.TB, text string) [][]string {
	tb.Helper()
	table, err := w.pages.AppendValueCSV(nil, w.view, queryOf(text))
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	return rows[1:]
}

// queryOf is a query for a list.
func queryOf(text string) site.ValueQuery {
	var list site.List
	_, _ = list.Write([]byte(text)) // List.Write does not fail
	return site.ValueQuery{List: list}
}

// pieceTable values a list in pieces of so many bytes, or longer pieces for longer rows.
func (w *world) pieceTable(tb testing.TB, text string, size int) (table [][]string) {
	tb.Helper()
	var header, kind string
	width := size
	for at := 0; at < len(text); {
		end := min(at+width, len(text))
		query := site.RowsQuery{Text: header + text[at:end], Kind: kind, Before: len(table), Last: end == len(text)}
		answer, err := w.pages.AppendRows(nil, w.view, &query)
		if err != nil {
			tb.Fatalf("%q: %v", query.Text, err)
		}
		var got piece
		if err := json.Unmarshal(answer, &got); err != nil {
			tb.Fatalf("%s: %v", answer, err)
		}
		if got.Read == 0 && end < len(text) {
			width *= 2
			continue
		}

		before := len(header)
		for _, row := range got.Rows {
			if row.End <= before || row.End > got.Read {
				tb.Fatalf("%q: a row ends at %d, behind %d of %d", query.Text, row.End, before, got.Read)
			}
			before = row.End
			table = append(table, row.Cells)
		}
		at += got.Read - len(header)
		width = size
		if kind == "" {
			kind = got.Kind
			if kind == "export" {
				header = text[:got.Header]
			}
		}
	}
	return table
}

// FuzzPieces checks that a list in pieces has the rows of the whole list, wherever it is cut.
func FuzzPieces(f *testing.F) {
	const app = "Quantity,Name,Set,Card Number,Printing\n"
	for _, text := range []string{
		"Charizard Kanto Classic 4/102\n\n2x Umbreon VMAX\n", app + "2,Charizard,Kanto Classic,4/102,Holofoil\n",
		app + "\n\n1,\"Char\nizard\",\"Kanto\n\nClassic\",4/102,\n,,,,\n3,Umbreon VMAX,,,\n",
		app, "\n \n", "a", app + `1,"b`, "\"sep=,\"\n" + app + "1,\"a\"\"\n\",b,c,d\n1,\"x\"y,z\n",
		strings.Repeat("Umbreon VMAX\n", 1100), app + strings.Repeat("1,a,b,c,d\n\n", 600),
	} {
		for _, size := range []byte{1, 7, 60} {
			f.Add(text, size)
		}
	}

	w := today(f)
	f.Fuzz(func(t *testing.T, text string, size byte) {
		query := queryOf(strings.TrimLeft(text, " \t\n\v\f\r\u0085\u00a0\ufeff"))
		text = query.Text()

		// The first piece decides whether a list is an export, so it has the whole header. A later row may show that
		// a file is no app's export.
		if size == 0 || strings.ContainsRune(text, '\r') || text == "" {
			return
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(text, "\"sep=,\"\n"), "\n")
		other := !strings.HasPrefix(first+"\n", app) && strings.ContainsAny(first, ",;\t")
		if other || strings.Contains(text, "\ufffd") {
			return
		}

		whole := w.wholeTable(t, text)
		pieces := w.pieceTable(t, text, max(int(size)*8, len("\"sep=,\"\n"+app)+1))
		if !slices.EqualFunc(whole, pieces, slices.Equal) {
			t.Errorf("%q has %d rows whole and %d in pieces:\n%q\n%q", text, len(whole), len(pieces), whole, pieces)
		}
	})
}

// TestHeaderWarnings checks that a useless header is reported, and that a list of lines is read without a warning.
func TestHeaderWarnings(t *testing.T) {
	w := today(t)
	const unknown = "The first row is no header of TCGplayer"
	german := "Anzahl;Produkt;Zustand\n"
	for text, want := range map[string]string{
		"Charizard Kanto Classic 4/102\nUmbreon VMAX\n":                 "",
		"Quantity,Name,Set\n1,Charizard,Kanto Classic\n":                "",
		"Quantity,Name,Set\nCharizard, Kanto Classic\n":                 "",
		"Charizard, Kanto Classic\nUmbreon VMAX\n":                      "",
		"Charizard, Kanto, 4/102\nUmbreon, Kanto, 215/203\n":            "",
		"Quantity,Name,Colour\n1,Charizard,red\n":                       "columns that are not known: &quot;Colour",
		"Quantity,Name,Card Name\n1,Charizard,Charizard\n":              "The header has a column more than once",
		german + "1;Charizard;NM\n":                                     unknown,
		german + strings.Repeat("1;Charizard;NM\n", 2*site.RowsAtATime): unknown,
	} {
		page, err := w.pages.Value(nil, w.view, w.now, queryOf(text))
		warned := strings.Contains(string(page), "read by itself")
		if err != nil || warned != (want != "") || !strings.Contains(string(page), want) {
			t.Errorf("%.60q: warned %t, want %q, %v", text, warned, want, err)
		}

		answer, err := w.pages.AppendRows(nil, w.view, &site.RowsQuery{Text: text, Last: true})
		want = strings.ReplaceAll(want, "&quot;", `\"`)
		silent := strings.Contains(string(answer), `"warning":""`)
		if err != nil || silent != (want == "") || !strings.Contains(string(answer), want) {
			t.Errorf("%.60q: the script has %.200s, %v", text, answer, err)
		}
	}
}

// TestUnreadableRows checks that an unreadable row is reported by its number in the whole list.
func TestUnreadableRows(t *testing.T) {
	w := today(t)
	const header = "Qty,Card Name,Edition\n"
	list := header + strings.Repeat("1,Charizard,Kanto Classic\n", 700) + "alone\n1,Umbreon,\n"
	want := "row 701 has a single cell"
	if _, err := w.pages.Value(nil, w.view, w.now, queryOf(list)); err == nil || err.Error() != want {
		t.Errorf("the list: %v", err)
	}
	for before, text := range map[int]string{700: header + "alone\n1,Umbreon,\n", 699: header + "1,Charizard,\nalone"} {
		query := site.RowsQuery{Text: text, Kind: "export", Before: before, Last: true}
		if _, err := w.pages.AppendRows(nil, w.view, &query); err == nil || err.Error() != want {
			t.Errorf("a piece: %v", err)
		}
	}

	query := site.RowsQuery{Text: "Umbreon\n", Kind: "export", Last: true}
	if answer, err := w.pages.AppendRows(nil, w.view, &query); err == nil {
		t.Errorf("rows without their header: %s", answer)
	}
}

// TestPicksOfPieces checks that a pick counts for its line alone, whatever piece has the line.
func TestPicksOfPieces(t *testing.T) {
	w := today(t)
	card := w.busiest()
	id := w.view.Catalog.Cards.ID.At(card)
	query := site.RowsQuery{
		Text: "zzzz qqqq\nzzzz qqqq\n", Kind: "lines", Before: 1233, Last: true,
		Picks: []site.Pick{{Line: 1235, Card: id}},
	}
	answer, err := w.pages.AppendRows(nil, w.view, &query)
	var got piece
	if err != nil || json.Unmarshal(answer, &got) != nil || len(got.Rows) != 2 {
		t.Fatalf("%s, %v", answer, err)
	}

	for i, want := range []string{"1234 unmatched ", "1235 priced " + id} {
		cells := got.Rows[i].Cells
		if row := fmt.Sprintf("%s %s %s", cells[0], cells[1], cells[11]); row != want {
			t.Errorf("row %d is %q, want %q", i, row, want)
		}
	}
}
