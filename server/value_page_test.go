package server

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"ninepocket/internal/testsweep"
)

// post sends a form of the page that values a list.
func (w *world) post(t *testing.T, values url.Values) reply {
	t.Helper()
	r, err := w.send(request{
		method: "POST", target: "/value", body: values.Encode(),
		header: []string{anybody(), "Content-Type: application/x-www-form-urlencoded"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValueList values a list, answers its question, and takes the table away. Nothing of it may be stored on the way,
// but by the browser that goes back to it.
func TestValueList(t *testing.T) {
	w := sharedSite()
	list := url.Values{"lines": {"Quantity,Name,Set\r\n3x Charizard Kanto Classic 4/102\r\n\r\nUmbreon VMAX\r\n" +
		"=cmd|' /C calc'!A0"}}
	r := w.post(t, list)
	page := string(r.body)
	cacheControl := r.header.Get("Cache-Control")
	if r.status != http.StatusOK || cacheControl != "private, max-age=0" || r.header.Get("ETag") != "" {
		t.Errorf("status %d, %q, %q", r.status, cacheControl, r.header.Get("ETag"))
	}
	for _, want := range []string{
		`<p class="amount"><small>So far</small> $1,350.00</p>`,
		"1 line of 3 priced, 3 copies", "3 × $450.00", "2 lines are open",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the answer lacks %q", want)
		}
	}

	_, button, _ := strings.Cut(page, `<button name="pick" value="2 `)
	card, _, _ := strings.Cut(button, `"`)
	if !strings.HasPrefix(card, "card_") {
		t.Fatalf("the second line has no card to pick: %.200s", button)
	}
	list.Set("pick", "2 "+card)
	if page := string(w.post(t, list).body); !strings.Contains(page, "2 lines of 3 priced") {
		t.Error("a line whose card was picked is still open")
	}

	list.Set("as", "csv")
	r = w.post(t, list)
	rows, err := csv.NewReader(strings.NewReader(string(r.body))).ReadAll()
	if err != nil || len(rows) != 4 || rows[1][9] != "1350.00" || rows[2][11] != card || rows[3][1] != "unmatched" ||
		r.header.Get("Content-Disposition") == "" || r.header.Get("Content-Type") != "text/csv; charset=utf-8" {
		t.Errorf("the table is %v, %v, %v", rows, err, r.header)
	}
	if !strings.HasPrefix(rows[3][12], "'=") {
		t.Errorf("a cell is a formula: %q", rows[3][12])
	}
}

// TestValueListEncodings reads forms as browsers and others send them, and files of apps.
func TestValueListEncodings(t *testing.T) {
	w := sharedSite()
	const file = "--b\r\nContent-Disposition: form-data; name=\"lines\"\r\n\r\nUmbreon VMAX\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n" +
		"\xef\xbb\xbf2x Charizard Kanto Classic 4/102\r\n--b--\r\n"
	for body, want := range map[string]string{
		file: "1 line of 1 priced, 2 copies", "": "What is this list worth?",
		file[:len(file)-20]: "This list was cut short", "--b\r\nContent-Disposition: nonsense\r\n\r\nx": "cut short",
	} {
		r, err := w.send(request{
			method: "POST", target: "/value", body: body,
			header: []string{anybody(), "Content-Type: multipart/form-data; boundary=b"},
		})
		good := strings.Contains(want, "cut short") == (r.status == http.StatusBadRequest)
		if err != nil || !good || !strings.Contains(string(r.body), want) {
			t.Errorf("%.60q: status %d without %q, %v", body, r.status, want, err)
		}
	}

	for _, c := range []struct{ header, body, want string }{
		{"Content-Type: application/x-www-form-urlencoded", "&&lines=Charizard+Kanto+Classic+4/102", "1 line of 1"},
		{
			"Content-Type: Application/X-WWW-Form-URLEncoded; charset=utf-8",
			"flag&lines=Charizard+Kanto+Classic+4/102&", "1 line of 1",
		},
		{"Content-Type: application/x-www-form-urlencoded", "lines=Charizard+Kanto+Classic+4/102&&as=csv", "450.00"},
		{"Content-Type: application/x-www-form-urlencoded", "lines=%EF%BB%BF%00", "What is this list worth?"},
		{"Content-Type: text/csv", "lines=Umbreon", "This is no form"},
		{"Content-Type: application/x-www-form-urlencoded\r\nContent-Encoding: gzip", "lines=x", "is compressed"},
	} {
		r, err := w.send(request{
			method: "POST", target: "/value", body: c.body, header: []string{anybody(), c.header},
		})
		if err != nil || !strings.Contains(string(r.body), c.want) {
			t.Errorf("%s, %q: status %d without %q, %v", c.header, c.body, r.status, c.want, err)
		}
	}

	// The columns of an app are known by its header, in any order, as the API reads them.
	export := string(w.post(t, url.Values{"lines": {
		"Name,Quantity,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language,Rarity,Product ID,SKU\n" +
			"Charizard,3,Charizard,Kanto Classic,4/102,,Unlimited Holofoil,Near Mint,English,,,\n",
	}}).body)
	if !strings.Contains(export, "1 line of 1 priced, 3 copies") || !strings.Contains(export, "$1,350.00") {
		t.Error("an export in another order is not read")
	}

	for _, pick := range []string{
		"", "x", "1", "0 card_a", "101 card_a", "1 card_nope nope nope", "99999999999999999999 a",
	} {
		if r := w.post(t, url.Values{"lines": {"Umbreon VMAX"}, "pick": {pick}}); r.status != http.StatusOK {
			t.Errorf("pick %q: status %d", pick, r.status)
		}
	}
}

// listOf is a list of so many rows and bytes, which all say the same.
func listOf(rows, size int) string {
	const row = "Charizard Kanto Classic 4/102"
	var list strings.Builder
	for i := range rows {
		width := size/rows - len("\n")
		if i < size%rows {
			width++
		}
		fmt.Fprintf(&list, "%-*s\n", width, row)
	}
	return list.String()
}

// exportOf is what an app exports of so many rows, with line ends of Windows and cells of several lines.
func exportOf(rows int) string {
	const header = "Quantity,Name,Simple Name,Set,Card Number,Set Code,Printing,Condition,Language,Rarity," +
		"Product ID,SKU\r\n"
	const row = "1,Charizard,\"Char\r\nizard\",Kanto Classic,4/102,,Unlimited Holofoil,Near Mint,English,,,\r\n"
	return header + strings.Repeat(row, rows)
}

// multipartOf is a form as browsers send it: the box, and the file below it.
func multipartOf(box, file string) string {
	const field = "--b\r\nContent-Disposition: form-data; name="
	return field + "\"lines\"\r\n\r\n" + box + "\r\n" +
		field + "\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n" + file + "\r\n--b--\r\n"
}

// listEncodings are the ways in which a list comes.
var listEncodings = map[string]struct {
	header string
	body   func(list string) string
}{
	"box":  {"multipart/form-data; boundary=b", func(list string) string { return multipartOf(list, "") }},
	"file": {"multipart/form-data; boundary=b", func(list string) string { return multipartOf("Umbreon VMAX", list) }},
	"encoded": {"application/x-www-form-urlencoded", func(list string) string {
		return url.Values{"lines": {list}}.Encode()
	}},
}

// TestValueListSizes posts lists of the sizes that visitors have, in every form; one that is valued and larger
// than 1 MiB has one form unless sweeps are done in full. Up to 100 rows and
// 64 KiB, without the additions of the form, the page shows each line. Up to 20,000 rows and 4 MiB
// it has the total. A larger list is refused by a page with its true size.
func TestValueListSizes(t *testing.T) {
	w := sharedSite()
	const limit = 64 << 10
	const full = "100 lines of 100 priced, 100 copies"
	tooLong := func(rows int, list string) string {
		return fmt.Sprintf("This list has %s rows and %s bytes.", thousands(rows), thousands(len(list)))
	}

	total := func(rows int) string {
		return fmt.Sprintf("$%[1]s.00</p> <p>%[2]s lines of %[2]s priced", thousands(450*rows), thousands(rows))
	}

	for _, c := range []struct {
		name, list, want string
		status           int
	}{
		{"8 KiB", listOf(100, 8<<10), full, 200},
		{"16 KiB", listOf(100, 16<<10), full, 200},
		{"64 KiB", listOf(100, limit), full, 200},
		{"export of 100", exportOf(100), full, 200},
		{"one byte more", listOf(100, limit+1), full, 200},
		{"101 rows", listOf(101, 5_000), total(101), 200},
		{"export of 101", exportOf(101), total(101), 200},
		{"5,000 rows", listOf(5_000, 312_345), total(5_000), 200},
		{"export of 5,000", exportOf(5_000), total(5_000), 200},
		{"4 MiB", listOf(5_000, 4<<20), total(5_000), 200},
		{"one byte more than that", listOf(5_000, 4<<20+1), tooLong(5_000, listOf(5_000, 4<<20+1)), 413},
		{"20,001 rows", listOf(20_001, 900_000), tooLong(20_001, listOf(20_001, 900_000)), 413},
		{"export of 20,001", exportOf(20_001), tooLong(20_001, exportOf(20_001)), 413},
	} {
		if testing.Short() && len(c.list) > 1<<20 {
			continue
		}
		for encoding, way := range listEncodings {
			for _, key := range []string{"", "X-API-Key: " + w.keys["pro"]} {
				if encoding != "box" && (key != "" || len(c.list) > 1<<20 && c.status == 200 && !testsweep.Full()) {
					continue // who has a key is a visitor like others, and to value a large list takes a second
				}
				q := request{method: "POST", target: "/value", body: way.body(c.list)}
				q.header = []string{anybody(), "Content-Type: " + way.header}
				if key != "" {
					q.header = append(q.header, key)
				}
				r, err := w.send(q)
				// One new address in a few hundred shares its slot of the limit with a busy one.
				if err == nil && r.status == http.StatusTooManyRequests {
					q.header[0] = anybody()
					r, err = w.send(q)
				}
				page := string(r.body)
				if err != nil || r.status != c.status || !strings.Contains(page, c.want) {
					t.Errorf("%s as %s, key %t: %d without %q, %v", c.name, encoding, key != "", r.status, c.want, err)
					continue
				}
				if strings.Contains(page, "$") != (c.status == 200) || strings.Contains(page, "So far") ||
					!strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
					t.Errorf("%s as %s: %q", c.name, encoding, r.header.Get("Content-Type"))
				}
			}
		}
	}
}

// thousands is a number as the pages write it.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}

// TestValueListOfStrangers checks the bounds of reading lists. The server reads no list of clients
// that are too many or ask too often, at most 4 MiB of a list, and none without a length.
func TestValueListOfStrangers(t *testing.T) {
	w := siteWorld(t, func(s *setup) {
		s.still = true // no address limit recovers meanwhile
	})
	post := func(visitor, body string) reply {
		t.Helper()
		r, err := w.send(request{
			method: "POST", target: "/value", body: body,
			header: []string{visitor, "Content-Type: multipart/form-data; boundary=b"},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	list := multipartOf(listOf(100, 64<<10), "")
	one := anybody()
	for range addressBurst {
		if r := post(one, list); r.status != http.StatusOK {
			t.Fatalf("status %d: %s", r.status, r.body)
		}
	}
	if r := post(one, list); r.status != http.StatusTooManyRequests || !strings.Contains(string(r.body), "Too many") {
		t.Errorf("status %d for one who asks too often", r.status)
	}

	// A part of an endless list is counted, and the server does not wait for its client.
	huge := multipartOf(listOf(100_000, 6<<20), "")
	if page := string(post(anybody(), huge).body); !strings.Contains(page, "This list has more than 67,") {
		t.Errorf("of a list of 6 MiB is told %.300s", page)
	}

	r, err := w.send(request{
		method: "POST", target: "/value", body: list, chunked: true,
		header: []string{anybody(), "Content-Type: multipart/form-data; boundary=b"},
	})
	if err != nil || r.status != http.StatusRequestEntityTooLarge ||
		!strings.Contains(string(r.body), "without its length") {
		t.Errorf("a list in chunks: status %d, %v", r.status, err)
	}

	// Those that take their time hold the places that there are for lists, and none of a client with a key.
	for range maxStreams {
		half := request{
			method: "POST", target: "/value", body: list,
			header: []string{anybody(), "Content-Type: multipart/form-data; boundary=b"},
		}
		slow, err := w.dial()
		if err != nil {
			t.Fatal(err)
		}
		defer slow.Close()
		if _, err := slow.Write(half.bytes()[:40_000]); err != nil {
			t.Fatal(err)
		}
	}
	w.awaitLists(t, maxStreams)
	if r := post(anybody(), list); r.status != http.StatusServiceUnavailable {
		t.Errorf("status %d without a place", r.status)
	}
	batch := request{
		method: "POST", target: "/v1/cards/batch", body: `{"ids":["` + strings.Repeat("x", 9<<10) + `"]}`,
		header: []string{"X-API-Key: " + w.keys["pro"]},
	}
	if r, err := w.send(batch); err != nil || r.status == http.StatusServiceUnavailable {
		t.Errorf("status %d for a key, %v", r.status, err)
	}
	if w.connections.BodyBytes() != 0 {
		t.Errorf("lists take %d bytes of the room for keys", w.connections.BodyBytes())
	}
	if r := post(anybody(), multipartOf("Umbreon VMAX", "")); r.status != http.StatusOK {
		t.Errorf("status %d of a short one", r.status)
	}
}
