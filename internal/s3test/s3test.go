// Package s3test has S3-compatible stores for tests: a model in this process, and versitygw if it
// is installed. A test can add faults to either: responses that are lost, truncated, changed or
// late.
package s3test

import (
	"context"
	"io"
	"log" //nolint:depguard // net/http's proxy needs it
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bucket is the bucket that every store has.
const Bucket = "cards"

// The credentials of every store.
const (
	AccessKey = "tester"
	Secret    = "a-secret-of-tests"
)

// Faults is a handler in front of a store; next is the store.
type Faults func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Store is a running store.
type Store struct {
	URL string

	mu     sync.Mutex
	faults Faults
	asked  []string
}

// Place returns the URL of a folder of the store's bucket.
func (s *Store) Place(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?endpoint=" + url.QueryEscape(s.URL) + "&region=us-east-1"
}

// Set sets the faults, nil for none. It clears the list of requests.
func (s *Store) Set(faults Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = faults
	s.asked = nil
}

// Asked returns the requests since Set: method and path without the bucket.
func (s *Store) Asked() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.asked...)
}

// begin starts a server in front of a store, and sets the credentials for the test.
func begin(tb testing.TB, behind http.Handler) *Store {
	tb.Helper()
	s := &Store{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		faults := s.faults
		s.asked = append(s.asked, r.Method+" "+strings.TrimPrefix(r.URL.Path, "/"+Bucket+"/"))
		s.mu.Unlock()
		if faults == nil {
			behind.ServeHTTP(w, r)
			return
		}
		faults(w, r, behind)
	}))
	tb.Cleanup(server.Close)

	s.URL = server.URL
	if t, ok := tb.(interface{ Setenv(key, value string) }); ok {
		t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
		t.Setenv("AWS_SECRET_ACCESS_KEY", Secret)
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "")
	}
	return s
}

// Versity starts versitygw with a folder of the test. It skips the test if versitygw is not
// installed.
func Versity(tb testing.TB) *Store {
	tb.Helper()
	program := find()
	if program == "" {
		tb.Skip("skipped: publications in a real S3-compatible store, because versitygw is not installed")
	}

	root := tb.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "data", Bucket), 0o700); err != nil {
		tb.Fatal(err)
	}

	// Another program may take the port meanwhile; then it is tried again.
	for range 5 {
		address, stop := try(tb, program, root)
		if address == "" {
			continue
		}
		tb.Cleanup(stop)
		behind := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
		behind.FlushInterval = -1
		behind.ErrorLog = log.New(io.Discard, "", 0) // clients that disconnect are no errors
		return begin(tb, behind)
	}
	tb.Fatal("versitygw does not start")
	return nil
}

// find returns the path of versitygw.
func find() string {
	if path, err := exec.LookPath("versitygw"); err == nil {
		return path
	}
	for _, folder := range []string{os.Getenv("GOBIN"), filepath.Join(os.Getenv("HOME"), "go", "bin")} {
		path := filepath.Join(folder, "versitygw")
		if _, err := os.Stat(path); folder != "" && err == nil {
			return path
		}
	}
	return ""
}

// try starts versitygw on a port that was free just now.
func try(tb testing.TB, program, root string) (address string, stop func()) {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	address = listener.Addr().String()
	listener.Close()

	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program, "--port", address, "--access", AccessKey, "--secret", Secret, "--quiet",
		"posix", filepath.Join(root, "data"))
	cmd.Env = append(os.Environ(), "HOME="+root)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	stop = func() { cancel(); <-ended }

	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			cancel()
			return "", nil
		case <-deadline:
			stop()
			return "", nil
		case <-tick.C:
			conn, err := net.Dial("tcp", address)
			if err == nil {
				conn.Close()
				return address, stop
			}
		}
	}
}

// Lose returns faults that lose one response: the store runs the first matching request, but its
// response is lost.
func Lose(matches func(*http.Request) bool) Faults {
	var once sync.Once
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		lost := false
		if matches(r) {
			once.Do(func() { lost = true })
		}
		if !lost {
			next.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
}

// Change returns faults that change the bodies of matching responses by a function. The response
// has the announced length; if the new body is shorter, the connection is closed.
func Change(matches func(*http.Request) bool, change func(body []byte) (changed []byte, announced int)) Faults {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if !matches(r) {
			next.ServeHTTP(w, r)
			return
		}

		made := httptest.NewRecorder()
		next.ServeHTTP(made, r)
		maps.Copy(w.Header(), made.Header())
		body, announced := change(made.Body.Bytes())
		w.Header().Set("Content-Length", itoa(announced))
		w.WriteHeader(made.Code)
		w.Write(body)
		if len(body) < announced {
			http.NewResponseController(w).Flush() // otherwise the written part would be lost with the connection
			panic(http.ErrAbortHandler)
		}
	}
}

// Answer returns faults that answer matching requests with a status alone.
func Answer(matches func(*http.Request) bool, status int) Faults {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if matches(r) {
			io.Copy(io.Discard, r.Body)
			w.WriteHeader(status)
			return
		}
		next.ServeHTTP(w, r)
	}
}

// Of matches requests of a method for objects whose names contain a text.
func Of(method, part string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && strings.Contains(r.URL.Path, part) }
}
