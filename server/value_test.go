package server

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// post sends a form of the page that values a list.
func (w *world) post(t *testing.T, form url.Values) reply {
	t.Helper()
	r, err := w.send(request{
		method: "POST", target: "/value", body: form.Encode(),
		header: []string{anybody(), "Content-Type: application/x-www-form-urlencoded"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestValueList values a list, answers its question, and takes the table away. Nothing of it may be kept on the way.
func TestValueList(t *testing.T) {
	w := sharedSite()
	list := url.Values{"lines": {"Quantity,Name,Set\r\n3x Charizard Kanto Classic 4/102\r\n\r\nUmbreon VMAX\r\n" +
		"=cmd|' /C calc'!A0"}}
	r := w.post(t, list)
	page := string(r.body)
	if r.status != http.StatusOK || r.header.Get("Cache-Control") != "no-store" || r.header.Get("ETag") != "" {
		t.Errorf("status %d, %q, %q", r.status, r.header.Get("Cache-Control"), r.header.Get("ETag"))
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

// TestValueListBounds wants lists within bounds, whatever is sent, and files of apps to be read.
func TestValueListBounds(t *testing.T) {
	w := sharedSite()
	long := string(w.post(t, url.Values{"lines": {strings.Repeat("Charizard Kanto Classic 4/102\n", 150)}}).body)
	if !strings.Contains(long, "of 100 priced") || !strings.Contains(long, "50 lines are beyond the first 100") {
		t.Error("a list that is too long is not cut, or does not say so")
	}

	wide := w.post(t, url.Values{"lines": {strings.Repeat("x", 200<<10)}})
	if wide.status != http.StatusOK || len(wide.body) > 200<<10 {
		t.Errorf("a line that is too long: status %d, %d bytes", wide.status, len(wide.body))
	}

	const file = "--b\r\nContent-Disposition: form-data; name=\"lines\"\r\n\r\nUmbreon VMAX\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\nContent-Type: text/csv\r\n\r\n" +
		"\xef\xbb\xbf2x Charizard Kanto Classic 4/102\r\n--b--\r\n"
	for body, want := range map[string]string{
		file: "1 line of 1 priced, 2 copies", file[:len(file)-20]: "What is this list worth?",
		"--b\r\nContent-Disposition: nonsense\r\n\r\nx": "What is this list worth?", "": "What is this list worth?",
	} {
		r, err := w.send(request{
			method: "POST", target: "/value", body: body,
			header: []string{anybody(), "Content-Type: multipart/form-data; boundary=b"},
		})
		if err != nil || r.status != http.StatusOK || !strings.Contains(string(r.body), want) {
			t.Errorf("%.60q: status %d without %q, %v", body, r.status, want, err)
		}
	}

	// The columns of an app are told by its header, in any order, as the API reads them.
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
