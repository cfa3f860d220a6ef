//go:build clients

package faults

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/testsweep"
)

// scenario is a row of the table: a job, its faults, and the expected result.
type scenario struct {
	name   string
	job    string
	key    string // bench when empty
	script func(d *demo) Script
	order  func(o *order) // changes the order of the job
	code   string         // of the error that the job ends with; none when empty
	says   string         // a part of the error's text
	tries  int            // requests that reach the proxy, if the number is fixed
	twice  bool           // the job is run twice, with the same id
}

// on returns a script that does something to the given requests.
func on(fault Fault, requests ...int) func(*demo) Script {
	return func(*demo) Script {
		return func(n int, _ *http.Request) Fault {
			for _, one := range requests {
				if n == one {
					return fault
				}
			}
			return Fault{}
		}
	}
}

// from does something to all requests from one on.
func from(first int, fault func(d *demo) Fault) func(*demo) Script {
	return func(d *demo) Script {
		return func(n int, _ *http.Request) Fault {
			if n < first {
				return Fault{}
			}
			return fault(d)
		}
	}
}

// onCursor replaces the cursor of the nth request by one that the server refuses.
func onCursor(n int) func(*demo) Script {
	return on(Fault{Cursor: "AQEBAAABogrcHmuvpBAY"}, n)
}

// swapOn publishes the next day's snapshot before the nth request.
func swapOn(n int) func(*demo) Script {
	return func(d *demo) Script {
		return func(at int, _ *http.Request) Fault {
			if at != n {
				return Fault{}
			}
			return Fault{Do: d.publish}
		}
	}
}

// table is the table of faults.
var table = []scenario{
	{name: "none", job: "walk", tries: 9},
	{name: "429 with Retry-After", job: "walk", script: on(Fault{Status: 429, RetryAfter: "1"}, 2), tries: 10},
	{name: "503 with Retry-After", job: "cards", script: on(Fault{Status: 503, RetryAfter: "1"}, 1), tries: 4},
	{name: "503 without", job: "prices", script: on(Fault{Status: 503}, 2, 3), tries: 7},
	{name: "502 of a proxy", job: "sets", script: on(Fault{Status: 502}, 1), tries: 2},
	{name: "cut before", job: "cards", script: on(Fault{CutBefore: true}, 1, 3)},
	{name: "cut after the answer", job: "prices", script: on(Fault{CutAfter: true}, 1, 4), tries: 7},
	{name: "cut within the body", job: "histories", script: on(Fault{CutWithin: true}, 1, 3), tries: 11},
	{name: "cut within a page", job: "walk", script: on(Fault{CutWithin: true}, 3, 4), tries: 11},
	{name: "cut after a valuation", job: "value", script: on(Fault{CutAfter: true}, 1)},
	{name: "slow", job: "card", script: on(Fault{Delay: 2500 * time.Millisecond}, 1)},
	{name: "movers cut", job: "movers", script: on(Fault{CutWithin: true}, 1), tries: 2},
	{name: "remembered", job: "card", tries: 2},

	{name: "partner, none", job: "partner", key: preview, tries: 3},
	{name: "partner, cut before", job: "partner", key: preview, script: on(Fault{CutBefore: true}, 1, 3)},
	{name: "partner, charged and cut", job: "partner", key: preview, script: on(Fault{CutAfter: true}, 1, 3), tries: 5},
	{name: "partner, cut within", job: "partner", key: preview, script: on(Fault{CutWithin: true}, 2, 3), tries: 5},
	{
		name: "partner, charged and slow", job: "partner", key: preview,
		script: on(Fault{Delay: 2500 * time.Millisecond}, 1), tries: 4,
	},
	{name: "partner, 429 and 503", job: "partner", key: preview, script: on(Fault{Status: 429}, 1, 4), tries: 5},
	{name: "partner, the job again", job: "partner", key: preview, tries: 3, twice: true},

	{name: "cursor refused", job: "walk", script: onCursor(5)},
	{name: "cursor of products refused", job: "products", key: "preview_rival", script: onCursor(3)},
	{
		name: "cursor refused for ever", job: "walk", code: "invalid_request", says: "cursor",
		script: func(*demo) Script {
			return func(_ int, r *http.Request) Fault {
				if r.URL.Query().Has("cursor") {
					return Fault{Cursor: "AQEBAAABogrcHmuvpBAY"}
				}
				return Fault{}
			}
		},
	},
	{
		name: "key rotated in a walk", job: "walk", code: "unauthorized", says: "rotated",
		script: from(4, func(d *demo) Fault { return Fault{Key: d.Keys["revoked"]} }), tries: 4,
	},
	{
		name: "key rotated in a job", job: "partner", key: preview, code: "invalid_api_key", says: "new one",
		script: from(2, func(*demo) Fault { return Fault{Key: "npk_prev_0000000000000000000000000000"} }), tries: 2,
	},
	{
		name: "a wait beyond the deadline", job: "sets", says: "429",
		script: on(Fault{Status: 429, RetryAfter: "3600"}, 1), code: "-", tries: 1,
	},
	{name: "a plan that lacks it", job: "sets", key: "sandbox", code: "sandbox_key", says: "key or plan", tries: 1},
	{
		name: "never an answer", job: "sets", code: "-", says: "network",
		script: from(1, func(*demo) Fault { return Fault{CutBefore: true} }),
		order:  func(o *order) { o.MaxTries = 3 },
	},
	{name: "a request that is wrong", job: "value", order: func(o *order) {
		o.Items = []map[string]any{{"name": ""}}
	}, code: "invalid_request", says: "items", tries: 1},

	// Rows that publish come last: the stored results without faults are of the first snapshot.
	{name: "swap in a walk", job: "walk", script: swapOn(4)},
	{name: "swap in a batch", job: "cards", script: swapOn(2)},
}

// preview is a key of the preview contract without practical limits.
const preview = "preview_bench"

// TestTable runs the table with the program of each language.
func TestTable(t *testing.T) {
	t.Parallel()
	// A sample has each row with one language or two, and each language with half of the rows.
	stride := testsweep.Stride(2)
	for l, language := range languages {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			program := language.program(t)
			d := startDemo(t, 2)
			for i, row := range table {
				if (i+l)%stride == 0 {
					t.Run(row.name, func(t *testing.T) { row.run(t, d, program) })
				}
			}
		})
	}
}

func (row *scenario) run(t *testing.T, d *demo, program []string) {
	o := d.order(t, row.job)
	if row.key != "" {
		o.Key = d.Keys[row.key]
	}
	if row.order != nil {
		row.order(&o)
	}
	o.JobID = "the reading"
	want := d.read(t, program, o, row.order == nil)
	before := d.usedBefore(t, o.Key)

	o.JobID = row.name
	script := Script(func(int, *http.Request) Fault { return Fault{} })
	if row.script != nil {
		script = row.script(d)
	}
	proxy := NewProxy(d.API, script)
	defer proxy.Close()
	o.BaseURL = proxy.URL
	began := time.Now()
	got := run(t, program, o)
	forwarded, asked := proxy.Seen()
	if row.twice {
		again := run(t, program, o)
		compareRows(t, again.Rows, got.Rows)
	}

	row.judge(t, got, want, proxy.URL, o.Key)
	if row.tries > 0 && asked != row.tries {
		t.Errorf("the client asked %d times, not %d", asked, row.tries)
	}
	if took := time.Since(began); took > 15*time.Second {
		t.Errorf("it took %v", took)
	}
	if row.code == "sandbox_key" {
		return // such a key has no usage
	}
	row.bill(t, d.used(t, o.Key)-before, forwarded, o)
}

// judge compares the result of a job with the result without faults, or with the expected error.
func (row *scenario) judge(t *testing.T, got, want outcome, url, key string) {
	t.Helper()
	if row.code == "" {
		if got.Error != nil {
			t.Fatalf("it failed: %+v", *got.Error)
		}
		compareRows(t, got.Rows, want.Rows)
		compareRows(t, got.NotFound, want.NotFound)
		return
	}

	if got.Error == nil {
		t.Fatalf("no error; want %s", row.code)
	}
	// The last error of a job that no refusal of the API ended has no code of the API.
	if row.code != "-" && got.Error.Code != row.code || !strings.Contains(got.Error.Message, row.says) {
		t.Errorf("the error is %+v; want code %s and %q", *got.Error, row.code, row.says)
	}
	if row.code != "-" && !strings.HasPrefix(got.Error.RequestID, "req_") {
		t.Errorf("the error has the request id %q", got.Error.RequestID)
	}
	if strings.Contains(fmt.Sprint(*got.Error), key) {
		t.Error("the error has the key")
	}
	// The results before the error are correct, as far as they go.
	if row.job == "walk" && len(got.Rows) <= len(want.Rows) {
		compareRows(t, got.Rows, want.Rows[:len(got.Rows)])
	}
}

// bill compares the charges with the requests that reached the server, and on the preview contract
// with the parts of the job, each once.
func (row *scenario) bill(t *testing.T, charged int, forwarded []Forwarded, o order) {
	t.Helper()
	want := 0
	for _, f := range forwarded {
		switch {
		case strings.HasPrefix(row.key, preview[:7]):
			want += f.Charged
		case f.Status == http.StatusOK && f.Path == "/v1/valuations":
			want += (len(o.Items) + 99) / 100
		case f.Status == http.StatusOK:
			want++
		}
	}

	if row.job == "partner" && row.code == "" {
		want = 3 // 130 selections in parts of 50
	}
	if charged != want {
		t.Errorf("%d were charged, not %d", charged, want)
	}
}

// TestProxyForwards tests the proxy itself: without faults the response is the server's.
func TestProxyForwards(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("X-API-Key"))
		fmt.Fprint(w, r.URL.RawQuery)
	}))
	defer server.Close()
	proxy := NewProxy(server.URL, onCursor(2)(nil))
	defer proxy.Close()

	for n, want := range []string{"cursor=a&q=1", "cursor=AQEBAAABogrcHmuvpBAY&q=1"} {
		response, err := http.Get(proxy.URL + "/v1/cards?cursor=a&q=1")
		if err != nil {
			t.Fatal(err)
		}
		text := new(strings.Builder)
		_, err = fmt.Fprint(text, readString(t, response))
		if err != nil || text.String() != want {
			t.Errorf("request %d: %q, not %q", n, text, want)
		}
	}
}
