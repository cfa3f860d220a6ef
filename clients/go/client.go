package ninepocket

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
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
	HTTP       *http.Client  // how to connect; a client of its own with keep-alive
}

// Client calls one server with one key.
type Client struct {
	base, key string
	options   Options
	remembers memory
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
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = idleConnections
		// Shorter than the server's 75 s, so that no call meets a connection that just ended.
		transport.IdleConnTimeout = 60 * time.Second
		options.HTTP = &http.Client{Transport: transport}
	}
	return &Client{base: strings.TrimRight(baseURL, "/"), key: key, options: options}
}

// call is one call of an operation.
type call struct {
	operation string // its name in the document, for errors
	path      string
	query     url.Values
	body      []byte // of a POST; nil for a GET
	media     string // of the body; JSON when empty
	header    map[string]string
	forgets   bool              // its answer is not remembered
	answered  func(http.Header) // hears of each answer, if set
}

// answer is a whole answer.
type answer struct {
	body   []byte
	header http.Header
}

// get calls an operation and decodes its answer.
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
		return &UnreachableError{Operation: r.operation, Tries: 1, Err: fmt.Errorf("the answer cannot be read: %w", err)}
	}
	return nil
}

// do calls an operation until there is an answer, a refusal, or no time left.
func (c *Client) do(ctx context.Context, r call) (*answer, error) {
	address := c.base + r.path
	if query := r.query.Encode(); query != "" {
		address += "?" + query
	}
	ctx, cancel := context.WithTimeout(ctx, c.options.Deadline)
	defer cancel()

	for try := 1; ; try++ {
		got, err := c.try(ctx, r, address)
		if err == nil {
			return got, nil
		}

		refused := asError(err)
		if refused == nil {
			err = &UnreachableError{Operation: r.operation, Tries: try, Err: err}
		}
		if refused != nil && !refused.passes() || try >= c.options.MaxTries || ctx.Err() != nil {
			return nil, err
		}
		if !pause(ctx, waitBefore(try, refused)) {
			return nil, err
		}
	}
}

// The waits between tries when the server names none.
const (
	firstWait   = 250 * time.Millisecond
	longestWait = 8 * time.Second
)

// waitBefore returns how long to wait after a try: what the server asked for and a bit more, so that
// many clients do not come back at once, else a random part of a time that doubles.
func waitBefore(try int, refused *Error) time.Duration {
	if refused != nil && refused.RetryAfter > 0 {
		return refused.RetryAfter + rand.N(max(refused.RetryAfter/10, firstWait))
	}
	return rand.N(min(firstWait<<min(try-1, 10), longestWait)) + time.Millisecond
}

// pause waits, unless the wait would end after the deadline.
func pause(ctx context.Context, wait time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait {
		return false
	}

	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// try calls once.
func (c *Client) try(ctx context.Context, r call, address string) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.TryTimeout)
	defer cancel()
	request, err := c.request(ctx, r, address)
	if err != nil {
		return nil, err
	}
	name, known := address, (*remembered)(nil)
	if r.body == nil && !r.forgets {
		known = c.remembers.find(name)
	}
	if known != nil {
		request.Header.Set("If-None-Match", known.tag)
	}

	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := readAll(response)
	if err != nil {
		return nil, err
	}

	switch {
	case response.StatusCode == http.StatusNotModified && known != nil:
		return &answer{known.body, response.Header}, nil
	case response.StatusCode != http.StatusOK:
		return nil, refusal(response, body)
	}
	if tag := response.Header.Get("ETag"); tag != "" && r.body == nil && !r.forgets {
		c.remembers.add(name, tag, body)
	}
	return &answer{body, response.Header}, nil
}

// request makes the request of a try.
func (c *Client) request(ctx context.Context, r call, address string) (*http.Request, error) {
	method, body := http.MethodGet, io.Reader(nil)
	if r.body != nil {
		method, body = http.MethodPost, bytes.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, err
	}

	request.Header.Set("X-API-Key", c.key)
	request.Header.Set("User-Agent", c.options.UserAgent)
	if r.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.media != "" {
		request.Header.Set("Content-Type", r.media)
	}
	for name, value := range r.header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// readAll reads a body, into one piece of memory when its length is known.
func readAll(response *http.Response) ([]byte, error) {
	if response.ContentLength <= 0 {
		return io.ReadAll(response.Body)
	}
	body := make([]byte, response.ContentLength)
	_, err := io.ReadFull(response.Body, body)
	return body, err
}

// retryAfter reads a Retry-After header, which is in seconds or a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
