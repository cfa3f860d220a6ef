package notify

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/snapshot"
)

const (
	testSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	secretPath = "/hook/T0PSECRET"
)

// message is what a receiver got, as tools/webhook reads it.
type message struct {
	Secret  string
	Headers http.Header
	Body    string
}

func (m *message) id() string { return m.Headers.Get("Webhook-Id") }

// world is a store, a receiver, and a sender between them whose clock the test moves.
type world struct {
	*Sender
	t      *testing.T
	now    time.Time
	server *httptest.Server
	log    bytes.Buffer

	mu      sync.Mutex
	answer  http.HandlerFunc // what the receiver does with a message; nil takes it
	took    []message        // answered 2xx
	reached int              // requests
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2026, 11, 20, 21, 0, 0, 0, time.UTC)}
	w.server = httptest.NewUnstartedServer(w)
	w.server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of refused certificates
	w.server.Start()
	t.Cleanup(w.server.Close)

	store := snapshot.OpenStore(t.TempDir())
	w.Sender = &Sender{
		Options: Options{URL: w.server.URL + secretPath, Secret: testSecret}, Store: store, Source: store.Events(),
		Ledger: FileLedger(t.TempDir()), Client: NewClient(), Now: func() time.Time { return w.now },
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Interval: 5 * time.Second,
	}
	t.Cleanup(func() {
		for _, secret := range []string{"T0PSECRET", testSecret, testSecret[len("whsec_"):]} {
			if strings.Contains(w.log.String(), secret) {
				t.Errorf("the log has a secret:\n%s", w.log.String())
			}
		}
	})
	return w
}

// ServeHTTP is the receiver.
func (w *world) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	b, _ := io.ReadAll(r.Body)
	w.mu.Lock()
	w.reached++
	answer := w.answer
	w.mu.Unlock()

	status := &recorded{ResponseWriter: rw, status: http.StatusOK}
	if answer != nil {
		answer(status, r)
	}
	if status.status/100 == 2 {
		w.mu.Lock()
		w.took = append(w.took, message{testSecret, r.Header.Clone(), string(b)})
		w.mu.Unlock()
	}
}

// recorded remembers the status.
type recorded struct {
	http.ResponseWriter
	status int
}

func (r *recorded) WriteHeader(status int) { r.status = status; r.ResponseWriter.WriteHeader(status) }

func (w *world) answers(do http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answer = do
}

// add stores an event and returns its id.
func (w *world) add(kind, key string) string {
	w.t.Helper()
	if err := Add(w.Store, kind, key, w.now, map[string]any{"key": key}); err != nil {
		w.t.Fatal(err)
	}
	ids, err := w.Store.Events().EventIDs(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	made, err := newEvent(kind, key, w.now, nil)
	if err != nil || !slices.Contains(ids, made.id) {
		w.t.Fatalf("%v: %v has no %s", err, ids, made.id)
	}
	return made.id
}

func (w *world) pass() {
	w.t.Helper()
	if err := w.Pass(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// ids returns the ids of all messages that were taken, in order.
func (w *world) ids() (ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.took {
		ids = append(ids, one.id())
	}
	return ids
}

func (w *world) wantIDs(what string, want ...string) {
	w.t.Helper()
	if got := w.ids(); !slices.Equal(got, want) {
		w.t.Errorf("%s: taken %q, want %q", what, got, want)
	}
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }

// answering is a receiver in the process, for the clock of synctest.
type answering func(*http.Request) (int, error)

func (do answering) RoundTrip(r *http.Request) (*http.Response, error) {
	status, err := do(r)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: http.NoBody, Header: http.Header{}}, nil
}
