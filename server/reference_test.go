package server

import (
	"bytes"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

var (
	operationPattern = regexp.MustCompile(`(?s)<details class="op" id="([^"]+)">.*?<form class="try" ` +
		`data-method="([A-Z]+)" data-path="([^"]+)"( data-open="true")?>(.*?)</form>`)
	fieldPattern = regexp.MustCompile(`name="([^"]+)" data-in="([^"]+)" value="([^"]*)"`)
	bodyPattern  = regexp.MustCompile(`(?s)data-in="body"[^>]*>(.*?)</textarea>`)
)

// TestReferenceWorksAtTheFirstTry sends each form of the reference as it stands: each is answered with data, and no
// filter that one may leave out is filled in.
func TestReferenceWorksAtTheFirstTry(t *testing.T) {
	w := sharedSite()
	page := w.page(t, "/docs").body
	// A fifth are the programs of the clients, folded; a quarter of all is sent.
	if len(page) > 130_000 {
		t.Errorf("the reference is %d bytes before anything is opened", len(page))
	}
	if bytes.Contains(page, []byte("unsafe")) || bytes.Count(page, []byte("<script src=")) != 2 {
		t.Error("the reference has other scripts than its own and that of the search")
	}

	for _, link := range regexp.MustCompile(`href="#([^"]+)"`).FindAllSubmatch(page, -1) {
		if n := bytes.Count(page, []byte(`id="`+string(link[1])+`"`)); n != 1 {
			t.Errorf("the reference links to #%s, and has %d of it", link[1], n)
		}
	}
	for _, want := range []string{
		`<li id="Unauthorized"><code>401</code> The key is missing`, `<a href="#Unauthorized">401</a>`,
		`<li id="NotModified"><code>304</code> The caller&#39;s copy is current: <code>If-None-Match</code>`,
	} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the reference lacks %s", want)
		}
	}
	if empty := regexp.MustCompile(`<ul class="answers">\s*</ul>|operations:\s*</p>`).Find(page); empty != nil {
		t.Errorf("the reference has an empty list: %s", empty)
	}

	operations := operationPattern.FindAllSubmatch(page, -1)
	if want := len(w.operations()); len(operations) != want {
		t.Errorf("the reference has %d operations, the server %d", len(operations), want)
	}
	for _, m := range operations {
		id := string(m[1])
		key := "bench"
		if strings.HasPrefix(id, "products_") {
			key = "preview"
		}
		r := request{method: string(m[2]), target: string(m[3])}
		if len(m[4]) == 0 {
			r.header = append(r.header, "X-API-Key: "+w.named(key))
		}

		for _, field := range fieldPattern.FindAllSubmatch(m[5], -1) {
			value := html.UnescapeString(string(field[3]))
			if string(field[2]) != "path" {
				required := bytes.Contains(m[5], []byte("<code>"+string(field[1])+"</code> <b>required</b>"))
				if value != "" && !required {
					t.Errorf("%s fills in %s=%s", id, field[1], value)
				}
				if value != "" {
					mark := "?"
					if strings.Contains(r.target, "?") {
						mark = "&"
					}
					r.target += mark + string(field[1]) + "=" + value
				}
				continue
			}
			r.target = strings.ReplaceAll(r.target, "{"+string(field[1])+"}", value)
		}
		if body := bodyPattern.FindSubmatch(m[5]); body != nil {
			r.body = html.UnescapeString(string(body[1]))
			r.header = append(r.header, "Content-Type: application/json")
		}

		answer := w.ask(t, r)
		var data struct {
			Data     json.RawMessage `json:"data"`
			NotFound []string        `json:"not_found"`
		}
		if id == "bulk_get" && answer.status == http.StatusOK && len(answer.body) > 0 {
			continue // a file
		}
		if id == "changes_list" && answer.status == http.StatusOK {
			continue // nothing changed since the current snapshot
		}
		if answer.status != http.StatusOK || json.Unmarshal(answer.body, &data) != nil ||
			string(data.Data) == "[]" || string(data.Data) == "null" || len(data.NotFound) > 0 {
			t.Errorf("%s: %s %s is answered %d: %.200s", id, r.method, r.target, answer.status, answer.body)
		}
	}
}
