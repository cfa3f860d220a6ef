package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"ninepocket/internal/contracttest"
	"ninepocket/internal/testsweep"
)

// scenario is one request and what must come back. Every reply is checked against the OpenAPI document
// and against the invariants of check, whatever a scenario asks for.
type scenario struct {
	name   string
	method string // GET by default; POST with a body
	path   string
	key    string   // sent as X-API-Key: a permanent key by name, or a key; "" is bench, "-" is none
	header []string // in addition
	body   string   // application/json unless header has a Content-Type
	status int      // 200 by default
	code   string   // of an error
	want   []match  // of the body; at least one, unless code is given
}

// match judges a body.
type match func(tb testing.TB, body []byte)

// exact wants a body equal to a JSON text.
func exact(want string) match {
	return func(tb testing.TB, body []byte) {
		tb.Helper()
		if !sameJSON(tb, body, []byte(want)) {
			tb.Errorf("body %.600s\nwant %.600s", body, want)
		}
	}
}

// has wants parts of text.
func has(parts ...string) match {
	return func(tb testing.TB, body []byte) {
		tb.Helper()
		for _, p := range parts {
			if !bytes.Contains(body, []byte(p)) {
				tb.Errorf("body lacks %q: %.600s", p, body)
			}
		}
	}
}

// lacks wants none of parts.
func lacks(parts ...string) match {
	return func(tb testing.TB, body []byte) {
		tb.Helper()
		for _, p := range parts {
			if bytes.Contains(body, []byte(p)) {
				tb.Errorf("body has %q: %.600s", p, body)
			}
		}
	}
}

// at wants a value at a dotted path, "data.0.id"; "#" at its end is the length of a list.
func at(path string, want any) match {
	return func(tb testing.TB, body []byte) {
		tb.Helper()
		got, ok := dig(tb, body, path)
		if n, is := want.(int); is {
			want = float64(n)
		}
		if !ok || !reflect.DeepEqual(got, want) {
			tb.Errorf("%s is %v, want %v, in %.600s", path, got, want, body)
		}
	}
}

func dig(tb testing.TB, body []byte, path string) (any, bool) {
	tb.Helper()
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		tb.Errorf("cannot read body %.200q: %v", body, err)
		return nil, false
	}

	for step := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			var ok bool
			value, ok = v[step]
			if !ok {
				return nil, false
			}
		case []any:
			if step == "#" {
				return float64(len(v)), true
			}

			i, err := strconv.Atoi(step)
			if err != nil || i >= len(v) {
				return nil, false
			}

			value = v[i]
		default:
			return nil, false
		}
	}
	return value, true
}

func sameJSON(tb testing.TB, a, b []byte) bool {
	tb.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		tb.Errorf("cannot read %.200q: %v", a, err)
		return false
	}
	if err := json.Unmarshal(b, &y); err != nil {
		tb.Fatalf("cannot read %.200q: %v", b, err)
	}
	return reflect.DeepEqual(x, y)
}

// run runs scenarios, each as a test of its own.
func (w *world) run(t *testing.T, scenarios []scenario) {
	t.Helper()
	for _, s := range scenarios {
		name := s.name
		if name == "" {
			name = s.method + " " + s.path
		}
		t.Run(name, func(t *testing.T) {
			if len(s.want) == 0 && s.code == "" {
				t.Fatal("a scenario must match its body by something")
			}
			w.try(t, s)
		})
	}
}

// try runs one scenario and returns the reply.
func (w *world) try(tb testing.TB, s scenario) reply {
	tb.Helper()
	q := s.request(w)
	r := w.ask(tb, q)
	if s.status == 0 {
		s.status = http.StatusOK
	}
	if r.status != s.status {
		tb.Errorf("%s %s answered %d, want %d: %.400s", q.method, q.target, r.status, s.status, r.body)
		return r
	}
	if s.code != "" {
		if got := r.code(); got != s.code {
			tb.Errorf("%s %s: code %q, want %q", q.method, q.target, got, s.code)
		}
	}

	for _, m := range s.want {
		m(tb, r.body)
	}
	return r
}

func (s *scenario) request(w *world) request {
	q := request{method: s.method, target: s.path, header: s.header, body: s.body}
	if q.method == "" {
		q.method = http.MethodGet
		if s.body != "" {
			q.method = http.MethodPost
		}
	}

	switch s.key {
	case "-":
	case "":
		q.header = append([]string{"X-API-Key: " + w.keys["bench"]}, q.header...)
	default:
		q.header = append([]string{"X-API-Key: " + w.named(s.key)}, q.header...)
	}

	if q.method == http.MethodPost && !strings.Contains(strings.Join(q.header, "\n"), "Content-Type:") {
		q.header = append(q.header, "Content-Type: application/json")
	}
	return q
}

// ask sends a request and checks the reply against everything that holds for all replies.
func (w *world) ask(tb testing.TB, q request) reply {
	tb.Helper()
	r, err := w.send(q)
	if err != nil {
		tb.Fatalf("%s %.200s: %v", q.method, q.target, err)
	}
	w.check(tb, q, r)
	return r
}

// get asks with the bench key.
func (w *world) get(tb testing.TB, target string, header ...string) reply {
	tb.Helper()
	return w.ask(tb, request{method: http.MethodGet, target: target, header: append([]string{"X-API-Key: " +
		w.keys["bench"]}, header...)})
}

var (
	requestIDPattern = regexp.MustCompile(`^req_[A-Za-z0-9_-]{1,64}$`)
	policyPattern    = regexp.MustCompile(`^"(?:minute|suggest)";q=(\d+);w=60, "day";q=(\d+);w=86400$`)
	limitPattern     = regexp.MustCompile(`^"(?:minute|suggest)";r=(\d+);t=(\d+), "day";r=(\d+);t=(\d+)$`)
)

// check holds a reply against the document and the invariants of all replies.
func (w *world) check(tb testing.TB, q request, r reply) {
	tb.Helper()
	for _, fault := range w.faults(q, r) {
		tb.Errorf("%s %.200q answered %d: %s\nbody %.200q", q.method, q.target, r.status, fault, r.body)
	}
}

// answers samples those that are checked against the document: with the race detector that took a third
// of the time of all tests.
var answers sampler

// sampler counts answers by where they came from.
type sampler struct{ seen sync.Map }

// due says whether to hold an answer against the document: the first of an operation and a
// status, and then one in a few, fewer of the long ones. make whole takes all of them.
func (s *sampler) due(q request, r reply) bool {
	if testsweep.Full() {
		return true
	}

	const short = 2_000
	first, every := int64(15), int64(30) // air: a pair
	if len(r.body) < short {
		first, every = 50, 10 // air: a pair
	}

	path, _, _ := strings.Cut(q.target, "?")
	parts := strings.Split(path, "/")
	where := fmt.Sprint(q.method, r.status, len(r.body) < short, len(parts), parts[:min(len(parts), 3)])
	counter, _ := s.seen.LoadOrStore(where, new(atomic.Int64))
	n := counter.(*atomic.Int64).Add(1)
	return n <= first || n%every == 0
}

// faults lists the broken rules for every reply.
func (w *world) faults(q request, r reply) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	header := r.header.Clone()
	for _, name := range []string{"Date", "Connection", "Content-Encoding"} {
		header.Del(name)
	}

	if answers.due(q, r) {
		err := contracttest.Validate(contracttest.Response{
			Method: q.method, Path: q.target, Status: r.status, Header: header, Body: r.body, LiveOnly: !w.Preview,
		})
		if err != nil {
			fail("against the OpenAPI document: %v", err)
		}
	}

	id := r.header.Get("X-Request-Id")
	if !requestIDPattern.MatchString(id) {
		fail("X-Request-Id is %q", id)
	}

	for _, never := range []string{"Set-Cookie", "Last-Modified", "Location"} {
		if got := r.header.Get(never); got != "" {
			fail("%s is %q", never, got)
		}
	}

	for name, values := range r.header {
		for _, v := range values {
			if strings.Contains(v, "~~~~") && !q.namesScribble() {
				fail("%s shows memory of an earlier request: %q", name, v)
			}
		}
	}
	if bytes.Contains(r.body, []byte("~~~~")) && !q.namesScribble() {
		fail("the body shows memory of an earlier request")
	}
	if r.status >= 400 && q.method != http.MethodHead && !strings.HasPrefix(q.target, "/healthz") {
		faults = append(faults, r.envelopeFaults(id)...)
	}
	return append(faults, r.limitFaults(w.clock())...)
}

// namesScribble reports whether a request may itself have, in some encoding, what handled requests
// are overwritten with.
func (q *request) namesScribble() bool {
	sent := strings.ToLower(q.target + q.body)
	for _, spelling := range []string{"~~~~", "%7e", `\u007e`} {
		if strings.Contains(sent, spelling) {
			return true
		}
	}
	return false
}

// envelopeFaults judges an error's body.
func (r reply) envelopeFaults(id string) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	var body struct {
		Type, Title, Detail, Code string
		RequestID                 string `json:"request_id"`
		Error                     *struct {
			Code, Message string
			RequestID     string `json:"request_id"`
		}
	}
	if err := json.Unmarshal(r.body, &body); err != nil {
		return []string{"the error is not JSON: " + err.Error()}
	}

	code := body.Code
	detail := body.Detail
	said := body.RequestID
	store := "no-store"
	if body.Error != nil {
		code = body.Error.Code
		detail = body.Error.Message
		said = body.Error.RequestID
		store = "private, no-store"
	} else if body.Type != baseURL+"/errors/"+code || body.Title == "" {
		fail("type is %q, title %q", body.Type, body.Title)
	}
	if said != id {
		fail("the body's request id is %q, the header's %q", said, id)
	}
	if code == "" || detail == "" || len(detail) > 4096 {
		fail("code %q, detail of %d bytes", code, len(detail))
	}
	if got := r.header.Get("Cache-Control"); got != store {
		fail("an error's Cache-Control is %q", got)
	}
	if strings.Contains(detail, "npk_") {
		fail("the detail shows a key: %q", detail)
	}
	return faults
}

// limitFaults judges the rate headers against each other, against Retry-After and against the
// clock.
func (r reply) limitFaults(now time.Time) (faults []string) {
	fail := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	policy := policyPattern.FindStringSubmatch(r.header.Get("RateLimit-Policy"))
	limit := limitPattern.FindStringSubmatch(r.header.Get("RateLimit"))
	if (policy == nil) != (limit == nil) {
		fail("only one of the RateLimit headers is there")
	}
	if policy == nil || limit == nil {
		return faults
	}

	number := func(s string) int64 { n, _ := strconv.ParseInt(s, 10, 64); return n }
	if got := r.header.Get("X-RateLimit-Limit"); got != policy[1] {
		fail("X-RateLimit-Limit is %s, the policy's q %s", got, policy[1])
	}
	if got := r.header.Get("X-RateLimit-Remaining"); got != limit[1] {
		fail("X-RateLimit-Remaining is %s, r is %s", got, limit[1])
	}

	reset := number(r.header.Get("X-RateLimit-Reset")) - number(limit[2])
	if off := reset - now.Unix(); off < -30 || off > 2 {
		fail("X-RateLimit-Reset is %d s off the instant that t names", off)
	}
	if number(limit[1]) > number(policy[1]) || number(limit[3]) > number(policy[2]) || number(limit[2]) > 61 ||
		number(limit[4]) > 86400 {
		fail("figures beyond their policy: %s, %s", limit[0], policy[0])
	}
	if r.status == http.StatusTooManyRequests {
		tripped := limit[2]
		if r.code() == "quota_exceeded" {
			tripped = limit[4]
		}
		if r.header.Get("Retry-After") != tripped || number(tripped) < 1 {
			fail("Retry-After is %s, the tripped policy's t %s", r.header.Get("Retry-After"), tripped)
		}
	}
	return faults
}

// code is the code of an error.
func (r reply) code() string {
	var body struct {
		Code  string
		Error struct{ Code string }
	}
	_ = json.Unmarshal(r.body, &body)
	return body.Code + body.Error.Code
}

// remaining reads what is left of the minute and of the day.
func (r reply) remaining(tb testing.TB) (minute, day int) {
	tb.Helper()
	limit := limitPattern.FindStringSubmatch(r.header.Get("RateLimit"))
	if limit == nil {
		tb.Fatalf("no RateLimit header in %v", r.header)
	}

	minute, _ = strconv.Atoi(limit[1])
	day, _ = strconv.Atoi(limit[3])
	return minute, day
}

// decode reads a body into v.
func (r reply) decode(tb testing.TB, v any) {
	tb.Helper()
	if err := json.Unmarshal(r.body, v); err != nil {
		tb.Fatalf("cannot read %.300q: %v", r.body, err)
	}
}
