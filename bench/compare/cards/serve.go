package cards

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// ErrNotFound reports that no card has a reference.
var ErrNotFound = errors.New("not found")

// Query selects cards by words or by price.
type Query struct {
	Words    string // folded
	Game     string
	Min, Max int64
	Sort     string // price_asc, price_desc or ""
	Limit    int
}

// Store is a database of cards.
type Store interface {
	Card(ctx context.Context, ref string) (*Detail, error)
	Details(ctx context.Context, ids []string) ([]Detail, error)
	Prices(ctx context.Context, ids []string) ([]Entry, error)
	Search(ctx context.Context, q Query) ([]Summary, error)
}

// Serve serves the paths that the driver requests until the process gets a signal to end. It checks
// no key and counts nothing: both would only make the databases look slower.
func Serve(s Store) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/cards/{id}", func(w http.ResponseWriter, r *http.Request) {
		card, err := s.Card(r.Context(), r.PathValue("id"))
		answer(w, card, err)
	})
	mux.HandleFunc("GET /v1/cards", func(w http.ResponseWriter, r *http.Request) {
		found, err := s.Search(r.Context(), query(r))
		if found == nil {
			found = []Summary{}
		}
		answer(w, map[string]any{"data": found, "next_cursor": nil}, err)
	})
	mux.HandleFunc("POST /v1/cards/batch", func(w http.ResponseWriter, r *http.Request) { batch(w, r, s.Details) })
	mux.HandleFunc("POST /v1/prices/batch", func(w http.ResponseWriter, r *http.Request) { batch(w, r, s.Prices) })

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); srv.Close() }()
	ready, err := json.Marshal(map[string]string{"api": "http://" + l.Addr().String()})
	if err != nil {
		return err
	}

	file := os.Getenv("READY_FILE")
	if err := errors.Join(os.WriteFile(file+".draft", ready, 0o600), os.Rename(file+".draft", file)); err != nil {
		return err
	}
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func query(r *http.Request) Query {
	values := r.URL.Query()
	number := func(name string, otherwise int64) int64 {
		if n, err := strconv.ParseInt(values.Get(name), 10, 64); err == nil {
			return n
		}
		return otherwise
	}
	return Query{
		Words: Fold(values.Get("q")), Game: values.Get("game"), Sort: values.Get("sort"),
		Min: number("min_price_cents", 0), Max: number("max_price_cents", 1<<53), Limit: int(number("limit", 20)),
	}
}

func batch[T any](w http.ResponseWriter, r *http.Request, find func(context.Context, []string) ([]T, error)) {
	var body struct{ IDs []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	found, err := find(r.Context(), body.IDs)
	answer(w, map[string]any{"data": found, "not_found": []string{}}, err)
}

func answer(w http.ResponseWriter, value any, err error) {
	switch {
	case errors.Is(err, ErrNotFound):
		http.Error(w, "not found", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}

	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(body.Len()))
	w.Write(body.Bytes())
}

// InOrder sorts the results for ids into the order of the ids.
func InOrder[T any](ids []string, found []T, id func(*T) string) []T {
	at := make(map[string]int, len(found))
	for i := range found {
		at[id(&found[i])] = i
	}

	out := make([]T, 0, len(ids))
	for _, want := range ids {
		if i, ok := at[want]; ok {
			out = append(out, found[i])
		}
	}
	return out
}
