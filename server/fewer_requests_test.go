package server

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ninepocket/access/keys"
	"ninepocket/index"
	"ninepocket/internal/testsweep"
)

// asked draws the body of a batch: ids and identifiers of cards, known and unknown, some twice.
func asked(r *rand.Rand, limit int) object {
	tr := todaysTruth()
	ids := []string{}
	identifiers := []string{"partner:none"}

	for range r.IntN(limit) {
		card := tr.cards[r.IntN(len(tr.cards))]
		switch id := card.identifiers; {
		case r.IntN(9) == 0:
			ids = append(ids, `none, or "one"`)
		case r.IntN(4) == 0 && len(id) > 0:
			one, _ := id[0].(object)
			identifiers = append(identifiers, fmt.Sprint(one["namespace"], ":", one["value"]))
		default:
			ids = append(ids, card.id)
		}
	}
	return object{"ids": ids, "identifiers": identifiers}
}

func bodyOf(tb testing.TB, o object) string {
	tb.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		tb.Fatal(err)
	}
	return string(text)
}

type histories struct {
	Days  int
	Dates []string
	Data  []struct {
		ID    string
		Lanes []struct {
			Variant string
			Cents   []*int64 `json:"market_price_cents"`
		}
	}
}

// point is a point of a history: variant, date and cents.
type point [3]string

// pointsOf are the points of a card's history in the rows of its CSV, and in the order of a batch.
func (w *world) pointsOf(t *testing.T, key, id, query string) (points []point) {
	t.Helper()
	var history struct {
		Data []struct {
			Date, Variant string
			Cents         int64 `json:"market_price_cents"`
		}
	}
	w.try(t, scenario{path: "/v1/cards/" + id + "/prices?" + query, key: key}).decode(t, &history)
	for _, p := range history.Data {
		points = append(points, point{p.Variant, p.Date, strconv.FormatInt(p.Cents, 10)})
	}
	return points
}

// TestHistoriesAreThoseOfTheirCards compares each history of a batch, in JSON and in CSV, with that of its
// card alone, day by day, also where the plan cuts the window.
func TestHistoriesAreThoseOfTheirCards(t *testing.T) {
	w := shared()
	r := rand.New(rand.NewPCG(5, 6))
	compared := 0
	for range 40 / testsweep.Stride(4) {
		key := []string{"bench", "brief"}[r.IntN(2)]
		body := asked(r, 20)
		days := 1 + r.IntN(40)
		body["days"] = days
		query := "days=" + strconv.Itoa(days)
		if variant := []string{"", "", "holofoil", "rev holo"}[r.IntN(4)]; variant != "" {
			body["variant"] = variant
			query += "&variant=" + url.QueryEscape(variant)
		}

		var got histories
		s := scenario{path: "/v1/prices/history/batch", key: key, body: bodyOf(t, body)}
		w.try(t, s).decode(t, &got)
		want := min(days, map[string]int{"bench": 365, "brief": 5}[key])
		if got.Days != want || len(got.Dates) != want {
			t.Fatalf("%s of %d days: %d days, %d dates", key, days, got.Days, len(got.Dates))
		}

		s.header = []string{"Accept: text/csv"}
		rows := rowsOf(t, w.try(t, s))
		for _, card := range got.Data {
			var columns []point
			for i, date := range got.Dates {
				for _, lane := range card.Lanes {
					if cents := lane.Cents[i]; cents != nil {
						columns = append(columns, point{lane.Variant, date, strconv.FormatInt(*cents, 10)})
					}
				}
			}

			want := w.pointsOf(t, key, card.ID, query)
			if !slices.Equal(columns, want) {
				t.Fatalf("%s, %s: %v, want %v", card.ID, query, columns, want)
			}
			compared += len(want)

			var inRows []point
			for _, row := range rows {
				// A card that was asked for by its id and its slug has its rows twice.
				one := point{row[1], row[2], row[3]}
				if row[0] == card.ID && row[2] != "" && !slices.Contains(inRows, one) {
					inRows = append(inRows, one)
				}
			}
			slices.SortStableFunc(inRows, func(a, b point) int { return strings.Compare(a[1], b[1]) })
			if len(card.Lanes) > 0 && !slices.Equal(inRows, want) {
				t.Fatalf("%s, %s: rows %v, want %v", card.ID, query, inRows, want)
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d points were compared", compared)
	}
}

// rowsOf are the rows of an answer in CSV, without the header.
func rowsOf(t *testing.T, r reply) [][]string {
	t.Helper()
	if got := r.header.Get("Vary"); !strings.HasPrefix(got, "Accept, ") {
		t.Errorf("Vary is %q", got)
	}
	rows, err := csv.NewReader(bytes.NewReader(r.body)).ReadAll()
	if err != nil || r.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Fatalf("%v in %q: %.300s", err, r.header.Get("Content-Type"), r.body)
	}
	return rows[1:]
}

// TestRowsAreTheEntries compares the rows of both batches with the entries of their JSON.
func TestRowsAreTheEntries(t *testing.T) {
	w := shared()
	r := rand.New(rand.NewPCG(7, 8))
	codes := map[string]string{}
	for _, one := range conditionOrder {
		codes[one.text] = one.code
	}
	for range 40 / testsweep.Stride(4) {
		body := bodyOf(t, asked(r, 40))
		for _, path := range []string{"/v1/cards/batch", "/v1/prices/batch"} {
			var batch struct {
				Data     []object
				NotFound []string `json:"not_found"`
			}
			w.try(t, scenario{path: path, body: body}).decode(t, &batch)

			var want []string
			for _, entry := range batch.Data {
				if path == "/v1/prices/batch" {
					want = append(want, fmt.Sprint(entry["id"], cell(entry["market_price_cents"]),
						entry["price_updated_at"], "ok"))
					continue
				}

				ref := entry["id"]
				if entry["ref"] != nil {
					ref = entry["ref"]
				}
				lanes, _ := entry["prices"].([]any)
				for _, lane := range lanes {
					o, _ := lane.(object)
					code, _ := o["condition"].(string)
					want = append(want, fmt.Sprint(ref, o["variant"], codes[code], cell(o["market_price_cents"]),
						o["price_updated_at"], "true", "ok"))
				}
				if len(lanes) == 0 {
					want = append(want, fmt.Sprint(ref, "ok"))
				}
			}
			for _, ref := range batch.NotFound {
				want = append(want, ref+"not_found")
			}

			var got []string
			s := scenario{path: path, body: body, header: []string{"Accept: text/csv"}}
			for _, row := range rowsOf(t, w.try(t, s)) {
				if len(row) == 8 && row[4] != "" {
					row = slices.Delete(row, 5, 6) // when it was collected, which is later
				} else if len(row) == 8 {
					row = slices.Delete(row, 4, 5)
				}
				got = append(got, strings.Join(row, ""))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s %s:\n%q, want\n%q", path, body, got, want)
			}
		}
	}
}

// cell is an amount as CSV has it.
func cell(cents any) string {
	n, ok := cents.(float64)
	if !ok {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// TestAcceptChoosesCSV asks for a history by lists of media types.
func TestAcceptChoosesCSV(t *testing.T) {
	w := shared()
	path := "/v1/cards/" + todaysTruth().cards[0].id + "/prices?days=3"
	for accept, want := range map[string]string{
		"text/csv": "text/csv; charset=utf-8", "text/csv, */*;q=0.9": "text/csv; charset=utf-8",
		"application/json;q=0.5, text/csv;q=0.6": "text/csv; charset=utf-8",
		"text/csv, application/json":             "application/json", "text/csv, */*": "application/json",
		"text/*": "application/json", "text/csv;q=0": "application/json", "application/xml": "application/json",
	} {
		r := w.get(t, path, "Accept: "+accept)
		if got := r.header.Get("Content-Type"); got != want || r.header.Get("Vary") != "Accept, "+varyBySnapshot {
			t.Errorf("%q: %q, Vary %q", accept, got, r.header.Get("Vary"))
		}
		again := w.get(t, path, "Accept: "+accept, "If-None-Match: "+r.header.Get("ETag"))
		if again.status != http.StatusNotModified || again.header.Get("Vary") != "Accept, "+varyBySnapshot {
			t.Errorf("%q: a client that has it gets %d, Vary %q", accept, again.status, again.header.Get("Vary"))
		}
	}

	gone := w.try(t, scenario{
		path: "/v1/cards/none/prices", header: []string{"Accept: text/csv"}, status: 404, code: "not_found",
	})
	if got := gone.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("an error is %q", got)
	}
	if got := w.get(t, "/v1/games", "Accept: text/csv").header.Get("Vary"); got != varyBySnapshot {
		t.Errorf("games have Vary %q", got)
	}
}

// chosen is what a list of fields leaves of a record.
func chosen(record object, fields []string) object {
	left := object{"id": record["id"]}
	if ref, ok := record["ref"]; ok {
		left["ref"] = ref
	}

	for name, value := range record {
		var inner []string
		for _, field := range fields {
			if rest, ok := strings.CutPrefix(field, name+"."); ok {
				inner = append(inner, rest)
			}
		}
		switch {
		case slices.Contains(fields, name):
			left[name] = value
		case len(inner) > 0:
			left[name] = part(value, inner)
		}
	}
	return left
}

func part(value any, inner []string) any {
	remain := func(o object) object {
		o = maps.Clone(o)
		maps.DeleteFunc(o, func(name string, _ any) bool { return !slices.Contains(inner, name) })
		return o
	}

	switch value := value.(type) {
	case object:
		return remain(value)
	case []any:
		parts := []any{}
		for _, element := range value {
			o, _ := element.(object)
			parts = append(parts, remain(o))
		}
		return parts
	}
	return value
}

// namesIn are the names that fields may have for records.
func namesIn(records []any) []string {
	names := map[string]bool{}
	for _, record := range records {
		o, _ := record.(object)
		for name, value := range o {
			names[name] = true
			if list, ok := value.([]any); ok && len(list) > 0 {
				value = list[0]
			}
			inner, _ := value.(object)
			for below := range inner {
				names[name+"."+below] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// TestFieldsLeaveWhatIsWanted compares answers of chosen fields with the whole ones, and prices of a
// search with those of details.
func TestFieldsLeaveWhatIsWanted(t *testing.T) {
	w := shared()
	r := rand.New(rand.NewPCG(9, 10))
	for range 60 / testsweep.Stride(4) {
		card := todaysTruth().cards[r.IntN(demoCards)].id
		body := bodyOf(t, asked(r, 12))
		for _, s := range []scenario{
			{path: "/v1/cards?limit=" + strconv.Itoa(1+r.IntN(50))},
			{path: "/v1/cards?limit=9&include=prices&q=ex"},
			{path: "/v1/cards/" + card + "?"},
			{path: "/v1/cards/batch?", body: body},
			{path: "/v1/prices/batch?", body: body},
		} {
			whole := recordsIn(t, w.try(t, s))
			names := namesIn(whole)
			fields := []string{}
			for range 1 + r.IntN(16) {
				if len(names) > 0 {
					fields = append(fields, names[r.IntN(len(names))])
				}
			}
			if len(fields) == 0 {
				continue
			}

			if s.path == "/v1/cards?limit=9&include=prices&q=ex" {
				w.pricesAreThoseOfDetails(t, whole)
			}
			s.path += "&fields=" + strings.Join(fields, ",")
			got := recordsIn(t, w.try(t, s))
			for i := range whole {
				record, _ := whole[i].(object)
				if have, _ := got[i].(object); !sameObject(have, chosen(record, fields)) {
					t.Fatalf("%s: %v, want %v", s.path, have, chosen(record, fields))
				}
			}
		}
	}
}

// recordsIn are the records of an answer: its data, or itself.
func recordsIn(t *testing.T, r reply) []any {
	t.Helper()
	var answer object
	r.decode(t, &answer)
	if list, ok := answer["data"].([]any); ok {
		return list
	}
	return []any{answer}
}

func (w *world) pricesAreThoseOfDetails(t *testing.T, records []any) {
	t.Helper()
	for _, record := range records {
		o, _ := record.(object)
		detail, _ := recordsIn(t, w.get(t, fmt.Sprint("/v1/cards/", o["id"])))[0].(object)
		if !sameObject(object{"prices": o["prices"]}, object{"prices": detail["prices"]}) {
			t.Fatalf("%v has prices %v, its detail %v", o["id"], o["prices"], detail["prices"])
		}
	}
}

type suggestions struct {
	Data []struct {
		Kind, Text, Game, URL string
		Cards                 int
	}
}

// TestSuggestions asks for every prefix of names. It wants at most the requested number, each name
// once with its number of cards in the files. The first name must be that of a card that the search
// finds.
func TestSuggestions(t *testing.T) {
	w := shared()
	tr := todaysTruth()
	counted := map[string]int{}
	for _, card := range tr.cards {
		counted["name "+card.game+" "+index.BaseName(card.name, card.number)]++
		counted["number "+card.game+" "+card.number]++
		if card.set != nil {
			counted["set "+card.game+" "+card.set.name]++
		}
	}

	r := rand.New(rand.NewPCG(11, 12))
	kinds := map[string]int{}
	for range 200 / testsweep.Stride(4) {
		card := tr.cards[r.IntN(len(tr.cards))]
		words := card.name
		switch r.IntN(4) {
		case 0:
			words = card.number
		case 1:
			if card.set != nil {
				words = card.set.name
			}
		default:
			letters := []rune(words)
			words = string(letters[:1+r.IntN(len(letters))])
		}
		if strings.TrimSpace(words) == "" {
			continue
		}
		limit := 1 + r.IntN(10)
		query := url.Values{"q": {words}, "limit": {strconv.Itoa(limit)}}
		if r.IntN(2) == 0 {
			query.Set("game", card.game)
		}

		var got suggestions
		w.get(t, "/v1/suggest?"+query.Encode()).decode(t, &got)
		seen := map[string]bool{}
		for _, one := range got.Data {
			kinds[one.Kind]++
			key := one.Kind + " " + one.Game + " " + one.Text
			if seen[key] || one.Cards != counted[key] || query.Has("game") && one.Game != card.game {
				t.Fatalf("%s: %+v, seen %t, want %d cards", query.Encode(), one, seen[key], counted[key])
			}
			seen[key] = true
			if !strings.HasPrefix(one.URL, baseURL+"/") {
				t.Fatalf("%s: url %q", query.Encode(), one.URL)
			}
		}
		if len(got.Data) > limit {
			t.Fatalf("%s: %d suggestions", query.Encode(), len(got.Data))
		}
	}
	if kinds["name"] == 0 || kinds["set"] == 0 || kinds["number"] == 0 {
		t.Errorf("kinds are %v", kinds)
	}
}

// TestSuggestionsAreMetered follows the headers of a key that only suggests: one of ten takes a request,
// and the minute is their own.
func TestSuggestionsAreMetered(t *testing.T) {
	w := newWorld(t, setup{still: true})
	// Its plan has 1,000 a minute and 3 a day.
	key := w.key(t, keys.NewKey{Name: only("typist"), Tenant: "typist", Surface: keys.Live, Plan: "tiny"})
	ask := func(query string, status int, remaining string) {
		t.Helper()
		r := w.try(t, scenario{path: "/v1/suggest?q=" + query, key: key, status: status})
		if got := r.header.Get("RateLimit-Policy"); got != `"suggest";q=10000;w=60, "day";q=3;w=86400` {
			t.Fatalf("policy %s", got)
		}
		if got := r.header.Get("RateLimit"); !strings.Contains(got, `"day";r=`+remaining+";") ||
			!strings.HasPrefix(got, `"suggest";r=`) || r.header.Get("X-RateLimit-Limit") != "10000" {
			t.Fatalf("%s: %s", query, got)
		}
	}

	ask("%20", 400, "3")
	for i := range 10 {
		ask("a"+strconv.Itoa(i), 200, "2")
	}
	ask("pik", 200, "1")
	w.try(t, scenario{path: "/v1/games", key: key})
	for range 9 {
		ask("pika", 200, "0")
	}
	ask("pikac", 429, "0")

	r := w.try(t, scenario{path: "/v1/usage", key: key, want: []match{at("data.request_credits_used", 3)}})
	var usage struct {
		Data struct{ Minute struct{ Remaining int } }
	}
	r.decode(t, &usage)
	if usage.Data.Minute.Remaining != 999 {
		t.Errorf("%d of the minute are left", usage.Data.Minute.Remaining)
	}
}
