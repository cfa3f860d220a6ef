package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ninepocket/snapshot"
)

// Source has the events of a store.
type Source interface {
	EventIDs(ctx context.Context) ([]string, error)
	Event(ctx context.Context, id string) ([]byte, error)
}

// Ledger records what was sent. Whoever has it open is the only sender.
type Ledger interface {
	// Load returns what was saved last, nil if nothing was.
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, record []byte) error
	Close() error
}

// ErrBusy reports that somebody else sends the events.
var ErrBusy = errors.New("a server sends them")

// The ends of a delivery.
const (
	resultSent    = "sent"
	resultSkipped = "skipped" // nobody asked for its type
	resultLost    = "lost"    // retryFor is over
)

// delivery is the state of one event for one target.
type delivery struct {
	Tries  int       `json:"tries,omitempty"`
	NextAt time.Time `json:"next_at,omitzero"` // of the next try
	Result string    `json:"result,omitempty"` // "" while it waits
	// Body is of an event that no store has.
	Body string `json:"body,omitempty"`
}

// deliveries are by target and id, with a space between.
type deliveries map[string]*delivery

// Stats are the metrics of a sender.
type Stats struct {
	Sent, Failed, Lost uint64    // tries that succeeded, tries that failed, events that nobody took
	Waiting            int       // deliveries
	Oldest             time.Time // event that waits; zero without one
}

// Sender sends the events of a store. Its fields are set by the caller; Client may be nil.
type Sender struct {
	Options
	Schedule
	Store  *snapshot.Store // whose day may be missing
	Source Source
	Now    func() time.Time
	Log    *slog.Logger
	Client *http.Client

	mu    sync.Mutex
	stats Stats
}

// Stats returns the metrics.
func (s *Sender) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// count changes the metrics.
func (s *Sender) count(change func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.stats)
}

// Run sends events until ctx is done. A ledger that somebody else has open, or that cannot be had, is
// tried again at the next interval.
func (s *Sender) Run(ctx context.Context, interval time.Duration, open func(context.Context) (Ledger, error)) {
	var ledger Ledger
	for failed := ""; ctx.Err() == nil; {
		var err error
		if ledger == nil {
			ledger, err = open(ctx)
		}
		if err == nil {
			err = s.Pass(ctx, ledger)
		}
		// Another one may have it meanwhile.
		if err != nil && ledger != nil {
			_ = ledger.Close()
			ledger = nil
		}
		if ledger == nil {
			s.count(func(stats *Stats) { stats.Waiting, stats.Oldest = 0, time.Time{} })
		}

		// What goes on is logged once.
		text := ""
		if err != nil && !errors.Is(err, ErrBusy) {
			text = err.Error()
		}
		if text != failed && text != "" && ctx.Err() == nil {
			s.Log.Warn("hooks wait", slog.Any("cause", err))
		}
		failed = text
		select {
		case <-ctx.Done():
		case <-time.After(interval):
		}
	}
	if ledger != nil {
		_ = ledger.Close()
	}
}

// Pass tries every event that is due once. Events that nobody took are tried again by a later pass.
func (s *Sender) Pass(ctx context.Context, ledger Ledger) error {
	if s.Client == nil {
		s.Client = newClient()
	}
	text, err := ledger.Load(ctx)
	if err != nil {
		return err
	}
	all := deliveries{}
	if len(text) > 0 {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return fmt.Errorf("cannot read what was sent: %w", err)
	}
	ids, err := s.Source.EventIDs(ctx)
	if err != nil {
		return err
	}

	all.forget(s.Now())
	ids = s.addMissing(all, ids)
	for _, to := range s.targets() {
		for _, id := range ids {
			if err := s.deliver(ctx, ledger, all, to, id); err != nil {
				return err
			}
		}
	}
	s.count(func(stats *Stats) { stats.Waiting, stats.Oldest = all.waiting() })
	return nil
}

// forget removes what is known of events whose files are gone by now.
func (all deliveries) forget(now time.Time) {
	maps.DeleteFunc(all, func(name string, _ *delivery) bool {
		_, id, _ := strings.Cut(name, " ")
		return now.Sub(happenedAt(id)) > retention
	})
}

// waiting counts the deliveries that wait, and returns the time of the oldest.
func (all deliveries) waiting() (n int, oldest time.Time) {
	for name, one := range all {
		_, id, _ := strings.Cut(name, " ")
		at := happenedAt(id)
		if one.Result != "" {
			continue
		}
		n++
		if oldest.IsZero() || at.Before(oldest) {
			oldest = at
		}
	}
	return n, oldest
}

// addMissing adds the event of a missing day, which no store has, and returns the ids of all events.
func (s *Sender) addMissing(all deliveries, ids []string) []string {
	cur, err := s.Store.Current()
	var served *snapshot.Manifest
	if err == nil {
		served, err = s.Store.Manifest(cur.ID)
	}
	if err == nil {
		if event, missing := s.Missing(served, s.Now()); missing {
			for _, to := range s.targets() {
				name := to.name + " " + event.ID
				if all[name] == nil {
					all[name] = &delivery{Body: string(event.Body)}
				}
			}
		}
	}

	ids = slices.Clone(ids)
	for name, one := range all {
		if _, id, _ := strings.Cut(name, " "); one.Body != "" {
			ids = append(ids, id)
		}
	}
	return sortedIDs(ids)
}

// deliver tries an event once if it is due, and saves how that ended. Its error is of the ledger.
func (s *Sender) deliver(ctx context.Context, ledger Ledger, all deliveries, to target, id string) error {
	now := s.Now()
	name := to.name + " " + id
	one := all[name]
	if one == nil {
		one = &delivery{}
		all[name] = one
	}
	if one.Result != "" || now.Before(one.NextAt) || ctx.Err() != nil {
		return ctx.Err()
	}

	event := Event{id, []byte(one.Body)}
	var err error
	if one.Body == "" {
		event.Body, err = s.Source.Event(ctx, id)
	}
	switch {
	case now.Sub(happenedAt(id)) > retryFor:
		one.Result = resultLost
		s.count(func(stats *Stats) { stats.Lost++ })
		s.Log.Error("nobody took an event for three days: it is lost", slog.String("event", id),
			slog.String("to", to.name), slog.Int("tries", one.Tries))
	case err == nil && !s.wants(typeOf(event.Body)):
		one.Result = resultSkipped
	default:
		if err == nil {
			err = to.send(ctx, &event)
		}
		s.settle(all, to, id, err)
	}

	// A try that the end of the server broke off was none.
	if ctx.Err() != nil && one.Result == "" {
		return ctx.Err()
	}
	text, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return ledger.Save(context.WithoutCancel(ctx), text)
}

// settle notes how a try ended.
func (s *Sender) settle(all deliveries, to target, id string, err error) {
	one := all[to.name+" "+id]
	one.Tries++
	if err != nil {
		pause := backoff(one.Tries)
		one.NextAt = s.Now().Add(pause)
		s.count(func(stats *Stats) { stats.Failed++ })
		s.Log.Warn("an event was not taken, and is tried again", slog.String("event", id),
			slog.String("to", to.name), slog.Int("tries", one.Tries), slog.Duration("next", pause),
			slog.Any("cause", err))
		return
	}

	one.Result = resultSent
	s.count(func(stats *Stats) { stats.Sent++ })
	s.Log.Info("event sent", slog.String("event", id), slog.String("to", to.name))
	// It answers again: what waits for it need not wait longer.
	for name, other := range all {
		if strings.HasPrefix(name, to.name+" ") {
			other.NextAt = time.Time{}
		}
	}
}

// backoff returns the time until the next try: from 5 s on four times longer each, an hour at most.
func backoff(tries int) time.Duration {
	pause := 5 * time.Second
	for range tries - 1 {
		pause = min(4*pause, time.Hour)
	}
	return pause
}
