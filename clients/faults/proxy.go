package faults

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Fault changes one request.
type Fault struct {
	// Status is the response in the server's place, with a text that is not the API's.
	Status     int
	RetryAfter string

	CutBefore bool          // the connection ends before the request is forwarded
	CutAfter  bool          // it ends after the server's response, before the client receives it
	CutWithin bool          // it ends in the middle of the response's body
	Delay     time.Duration // the response comes this much later

	Cursor string // replaces the cursor of the request
	Key    string // replaces the key of the request
	Do     func() // is done before the request is forwarded
}

// A Script returns the fault of the nth request, counted from 1.
type Script func(n int, r *http.Request) Fault

// Proxy forwards requests to a server, with the faults of a script.
type Proxy struct {
	*httptest.Server
	target string
	script Script

	mu   sync.Mutex
	n    int
	seen []Forwarded
}

// Forwarded is a request that reached the server.
type Forwarded struct {
	Path    string
	Status  int
	Charged int // credits of the preview contract
}

// NewProxy starts a proxy before the server at target. Close ends it.
func NewProxy(target string, script Script) *Proxy {
	p := &Proxy{target: target, script: script}
	p.Server = httptest.NewServer(p)
	return p
}

// Seen returns the requests that reached the server, in the order of their responses, and the number
// of requests from the client.
func (p *Proxy) Seen() (forwarded []Forwarded, asked int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Forwarded(nil), p.seen...), p.n
}

// ServeHTTP forwards a request, or applies its fault.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.n++
	n := p.n
	p.mu.Unlock()

	fault := p.script(n, r)
	if fault.Do != nil {
		fault.Do()
	}
	if fault.CutBefore {
		panic(http.ErrAbortHandler)
	}
	if fault.Status != 0 {
		if fault.RetryAfter != "" {
			w.Header().Set("Retry-After", fault.RetryAfter)
		}
		http.Error(w, "a proxy answers "+strconv.Itoa(fault.Status), fault.Status)
		return
	}

	response, body, err := p.forward(r, fault)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	time.Sleep(fault.Delay)
	if fault.CutAfter {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), response.Header)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(response.StatusCode)
	if fault.CutWithin {
		_, _ = w.Write(body[:len(body)/2]) // the connection ends in any case
		_ = http.NewResponseController(w).Flush()
		time.Sleep(50 * time.Millisecond) // a client reads the bytes before it notices the end
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(body) // a client that is gone receives nothing
}

// forward sends the request to the server, and returns the whole response.
func (p *Proxy) forward(r *http.Request, fault Fault) (*http.Response, []byte, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the request: %w", err)
	}
	address := p.target + r.URL.RequestURI()
	if fault.Cursor != "" {
		query := r.URL.Query()
		query.Set("cursor", fault.Cursor)
		address = p.target + r.URL.Path + "?" + query.Encode()
	}

	// The client may give up: the server still responds.
	request, err := http.NewRequest(r.Method, address, bytes.NewReader(sent))
	if err != nil {
		return nil, nil, err
	}
	request.Header = r.Header.Clone()
	if fault.Key != "" {
		request.Header.Set("X-API-Key", fault.Key)
	}
	// The client's choice of encoding, or none, goes through.
	if !strings.Contains(strings.Join(request.Header.Values("Accept-Encoding"), ","), "gzip") {
		request.Header.Set("Accept-Encoding", "identity")
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, nil, err
	}

	charged, _ := strconv.Atoi(response.Header.Get("X-Request-Credits-Charged")) // absent on the live surface
	p.mu.Lock()
	p.seen = append(p.seen, Forwarded{r.URL.Path, response.StatusCode, charged})
	p.mu.Unlock()
	return response, body, nil
}
