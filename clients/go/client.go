package ninepocket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Version is the version of this client.
const Version = "0.1.0"

// Options change how a client calls. The zero value has a good default for each.
type Options struct {
	Deadline   time.Duration // of a call with all its tries; 60 s
	TryTimeout time.Duration // of one try, in a download without a byte; 20 s
	MaxTries   int           // of a call; 8
	UserAgent  string        // ninepocket-go and its version
	HTTP       *http.Client  // the transport; a separate client with keep-alive by default
}

// Client calls one server with one key.
type Client struct {
	base, key string
	options   Options
	snapshot  string // of all responses; any when empty
	remembers *memory
}

// idleConnections is how many connections wait for the next call of a program with many goroutines.
const idleConnections = 32

// New returns a client of the server at baseURL. Nothing is called yet.
func New(baseURL, key string, options Options) *Client {
	options.Deadline = cmp.Or(options.Deadline, 60*time.Second)
	options.TryTimeout = cmp.Or(options.TryTimeout, 20*time.Second)
	options.MaxTries = cmp.Or(options.MaxTries, 8)
	options.UserAgent = cmp.Or(options.UserAgent, "ninepocket-go/"+Version)
	if options.HTTP == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
		transport.MaxIdleConnsPerHost = idleConnections
		// Shorter than the server's 75 s, so that no call meets a connection that just ended.
		transport.IdleConnTimeout = 60 * time.Second
		options.HTTP = &http.Client{Transport: transport}
	}
	return &Client{base: strings.TrimRight(baseURL, "/"), key: key, options: options, remembers: &memory{}}
}

// At returns a client whose responses all come from one snapshot, as long as the server has it. After
// that, a call fails with snapshot_gone.
func (c *Client) At(snapshot string) *Client {
	pinned := *c
	pinned.snapshot = snapshot
	return &pinned
}

// call is one call of an operation.
type call struct {
	operation string // its name in the document, for errors
	path      string
	query     url.Values
	body      []byte // of a POST; nil for a GET
	media     string // of the body; JSON when empty
	header    map[string]string
	forgets   bool              // its response is not cached
	answered  func(http.Header) // called for each response, if set
}

// answer is a complete response.
type answer struct {
	body   []byte
	header http.Header
}

// get calls an operation and decodes its response.
func (c *Client) get(ctx context.Context, r call, into any) error {
	got, err := c.do(ctx, r)
	if err != nil {
		return err
	}
	if r.answered != nil {
		r.answered(got.header)
	}
	return decode(r, got.body, into)
}

func decode(r call, body []byte, into any) error {
	if err := json.Unmarshal(body, into); err != nil {
		return &UnreachableError{r.operation, 1, fmt.Errorf("the response cannot be read: %w", err)}
	}
	return nil
}

// do calls an operation until there is a response, a refusal, or no time left.
func (c *Client) do(ctx context.Context, r call) (*answer, error) {
	address := c.base + r.path
	if query := r.query.Encode(); query != "" {
		address += "?" + query
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Deadline)
	defer cancel()

	var got *answer
	err := c.repeat(ctx, r.operation, func() (_ bool, err error) {
		got, err = c.try(ctx, r, address)
		return false, err
	})
	return got, err
}

// repeat does something until it is done, is refused, or has no time or try left. Progress resets
// the number of tries.
func (c *Client) repeat(ctx context.Context, operation string, once func() (isProgress bool, err error)) error {
	for try := 1; ; try++ {
		isProgress, err := once()
		if err == nil {
			return nil
		}
		if isProgress {
			try = 1
		}

		refused := asError(err)
		if refused == nil {
			err = &UnreachableError{Operation: operation, Tries: try, Err: err}
		}
		isFinal := refused != nil && !hasStatus(err, passing...)
		if isFinal || try >= c.options.MaxTries || !pause(ctx, waitBefore(try, refused)) {
			return err
		}
	}
}

// The waits between tries when the server names none.
const (
	firstWait = 250 * time.Millisecond
	maxWait   = 8 * time.Second
)

// waitBefore returns the wait after a try. It is the server's wait and a bit more, so that many
// clients do not come back at once. Without one it is a random part of a time that doubles.
func waitBefore(try int, refused *Error) time.Duration {
	if refused != nil && refused.RetryAfter > 0 {
		return refused.RetryAfter + rand.N(max(refused.RetryAfter/10, firstWait))
	}
	return rand.N(min(firstWait<<min(try-1, 10), maxWait)) + time.Millisecond
}

// pause waits, unless the wait would end after the deadline.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return false
	}

	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	<-waiting.Done()
	return ctx.Err() == nil
}

// try calls once.
func (c *Client) try(ctx context.Context, r call, address string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.TryTimeout)
	defer cancel()
	request, err := c.request(ctx, r, address)
	if err != nil {
		return nil, err
	}
	var known *remembered
	isRemembered := r.body == nil && !r.forgets && c.snapshot == ""
	if isRemembered {
		known = c.remembers.find(address)
	}
	if known != nil {
		request.Header.Set("If-None-Match", known.tag)
	}

	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}

	switch {
	case response.StatusCode == http.StatusNotModified && known != nil:
		return &answer{known.body, response.Header}, nil
	case response.StatusCode != http.StatusOK:
		return nil, refusal(response, body)
	}
	if tag := response.Header.Get("ETag"); tag != "" && isRemembered {
		c.remembers.add(&remembered{address, tag, body})
	}
	return &answer{body, response.Header}, nil
}

// request makes the request of a try.
func (c *Client) request(ctx context.Context, r call, address string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}

	request.Header.Set("X-API-Key", c.key)
	request.Header.Set("User-Agent", c.options.UserAgent)
	if r.body != nil {
		request.Method = http.MethodPost
		request.Header.Set("Content-Type", cmp.Or(r.media, "application/json"))
	}
	if c.snapshot != "" {
		request.Header.Set("X-Snapshot-Id", c.snapshot)
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// Bounds of a client's cache for conditional requests.
const (
	maxRemembered      = 256
	maxRememberedBytes = 8 << 20
	maxRememberedBody  = 1 << 20
)

// memory has the bodies and validators of the most recently used responses.
type memory struct {
	mu      sync.Mutex
	answers []*remembered // the last used last
}

type remembered struct {
	address, tag string
	body         []byte
}

func (m *memory) find(address string) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.answers, func(one *remembered) bool { return one.address == address })
	if at < 0 {
		return nil
	}
	known := m.answers[at]
	m.answers = append(slices.Delete(m.answers, at, at+1), known)
	return known
}

func (m *memory) add(answer *remembered) {
	if len(answer.body) > maxRememberedBody {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	isOld := func(one *remembered) bool { return one.address == answer.address }
	m.answers = append(slices.DeleteFunc(m.answers, isOld), answer)

	size := 0
	for _, one := range m.answers {
		size += len(one.body)
	}
	for ; len(m.answers) > maxRemembered || size > maxRememberedBytes; m.answers = slices.Delete(m.answers, 0, 1) {
		size -= len(m.answers[0].body)
	}
}

// fetch calls a GET whose response is a T.
func fetch[T any](ctx context.Context, c *Client, operation, path string, query url.Values) (*T, error) {
	into := new(T)
	if err := c.get(ctx, call{operation: operation, path: path, query: query}, into); err != nil {
		return nil, err
	}
	return into, nil
}

// errNoID refuses an empty id: its address would be that of a list.
var errNoID = errors.New("an id is empty: give the id or slug of a card or set")

// fetchOne calls a GET of one id. The path has the id between two parts.
func fetchOne[T any](ctx context.Context, c *Client, operation, head, id, tail string, q url.Values) (*T, error) {
	if id == "" {
		return nil, errNoID
	}
	return fetch[T](ctx, c, operation, head+url.PathEscape(id)+tail, q)
}

// Changes yields all changes since a snapshot, up to the present snapshot or the client's.
func (c *Client) Changes(ctx context.Context, p ChangesListParams) iter.Seq2[Change, error] {
	return c.changes(ctx, p, new(string))
}

// changes also stores in *to the snapshot that the rows lead to, and requests that snapshot if it is set.
func (c *Client) changes(ctx context.Context, p ChangesListParams, to *string) iter.Seq2[Change, error] {
	if p.Limit == 0 {
		p.Limit = map[bool]int64{true: 5000, false: 1000}[p.Kind == "prices"]
	}
	pinned := c.At(cmp.Or(*to, c.snapshot))
	r := call{operation: "changes_list", path: "/v1/changes", query: p.query(), forgets: true}
	// A restarted pagination leads to the first one's snapshot.
	r.answered = func(header http.Header) {
		*to = header.Get("X-Snapshot-Id")
		pinned.snapshot = *to
	}
	return walk[ChangePage, Change](ctx, pinned, r)
}

// maxRestarts is how often a pagination starts again.
const maxRestarts = 3

// pageRows is the size of a page when the caller does not choose: as many as the API gives.
const pageRows = "50"

// page is a page of rows.
type page[P, T any] interface {
	*P
	rows() ([]T, *string)
}

// row is an entry with its own name.
type row[T any] interface {
	*T
	identity() string
}

// walk yields the rows of all pages. If the server rejects a cursor, the pagination starts
// again, and rows that were already yielded are left out.
func walk[P, T any, PP page[P, T], TT row[T]](ctx context.Context, c *Client, r call) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		given := map[string]bool{}
		r := r
		r.query = maps.Clone(r.query)
		r.query.Del("cursor")
		if !r.query.Has("limit") {
			r.query.Set("limit", pageRows)
		}

		for restarts := 0; ; {
			hasCursor := r.query.Has("cursor")
			r.forgets = r.forgets || hasCursor
			got := PP(new(P))
			err := c.get(ctx, r, got)
			// The rest of the query was valid on the first page, so 400 means the cursor. Changes that
			// are gone stay gone.
			isGone := hasStatus(err, http.StatusBadRequest, http.StatusPreconditionFailed)
			if hasCursor && isGone && restarts < maxRestarts {
				restarts++
				r.query.Del("cursor")
				continue
			}
			if err != nil {
				yield(*new(T), err)
				return
			}

			data, next := got.rows()
			for i := range data {
				name := TT(&data[i]).identity()
				if !given[name] && !yield(data[i], nil) {
					return
				}
				given[name] = true
			}
			if next == nil {
				return
			}
			r.query.Set("cursor", *next)
		}
	}
}
