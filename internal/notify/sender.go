package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

// Source has the events of a store.
type Source interface {
	EventIDs(ctx context.Context) ([]string, error)
	Event(ctx context.Context, id string) ([]byte, error)
}

// Ledger has what was sent. Of several senders it lets one load it.
type Ledger interface {
	Load(ctx context.Context) ([]byte, error) // nil before the first Save
	Save(ctx context.Context, record []byte) error
	Close() // lets another sender go on
}

// FileLedger is the ledger of a state directory, whose lock excludes other senders.
type FileLedger string

func (dir FileLedger) path() string { return filepath.Join(string(dir), statedir.HooksName) }

// Load implements Ledger.
func (dir FileLedger) Load(context.Context) ([]byte, error) {
	record, err := disk.ReadFile(disk.OS, dir.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return record, err
}

// Save implements Ledger.
func (dir FileLedger) Save(_ context.Context, record []byte) error {
	return statedir.ReplaceFile(dir.path(), record)
}

// Close implements Ledger.
func (FileLedger) Close() {}

// delivery is what is known of one event for one target.
type delivery struct {
	Tries  int       `json:"tries"`
	NextAt time.Time `json:"next_at,omitzero"`
	Done   bool      `json:"done"`           // sent, not wanted, or lost
	Body   string    `json:"body,omitempty"` // of an event that no store has
}

// deliveries are by target and id, with a space between.
type deliveries map[string]*delivery

// idOf returns the id in the name of a delivery.
func idOf(name string) string { return name[strings.IndexByte(name, ' ')+1:] }

// Stats are the metrics of a sender.
type Stats struct {
	Sent, Failed, Lost uint64    // tries that succeeded and failed, and events that nobody took in time
	Oldest             time.Time // event that waits; zero without one
}

// Sender sends the events of a store. Its fields are set before it is used.
type Sender struct {
	Options
	Schedule
	Store  *snapshot.Store // whose days may be missing
	Source Source
	Ledger Ledger
	Client *http.Client
	Now    func() time.Time
	Log    *slog.Logger
	// Interval is the time between two passes of Run.
	Interval time.Duration

	counts Stats // of the goroutine that sends
	stats  atomic.Pointer[Stats]
}

// Stats returns the metrics as of the last pass.
func (s *Sender) Stats() Stats { return *cmp.Or(s.stats.Load(), &Stats{}) }

// Run sends events until ctx is done, and closes the ledger.
func (s *Sender) Run(ctx context.Context) {
	defer s.Ledger.Close()
	logged := ""
	for ctx.Err() == nil {
		text := ""
		if err := s.Pass(ctx); err != nil && ctx.Err() == nil {
			text = err.Error()
		}

		// A lasting state is logged once.
		if text != logged && text != "" {
			s.Log.Info("no hooks are sent from here", slog.String("cause", text))
		}
		logged = text
		select {
		case <-ctx.Done():
		case <-time.After(s.Interval):
		}
	}
}

// Pass tries every event that is due once.
func (s *Sender) Pass(ctx context.Context) error {
	s.counts.Oldest = time.Time{}
	defer func() {
		counts := s.counts
		s.stats.Store(&counts)
	}()
	all, err := s.load(ctx)
	if err != nil {
		return err
	}

	changed := false
	for _, name := range slices.SortedFunc(maps.Keys(all), byTime) {
		one := all[name]
		if !one.Done && !s.Now().Before(one.NextAt) && ctx.Err() == nil {
			s.try(ctx, all, name)
			changed = true
		}
		if at := happenedAt(idOf(name)); !one.Done && (s.counts.Oldest.IsZero() || at.Before(s.counts.Oldest)) {
			s.counts.Oldest = at
		}
	}
	// A pass that is broken off before this sends the same ids again.
	if !changed {
		return nil
	}
	record, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.Ledger.Save(context.WithoutCancel(ctx), record)
}

// byTime orders deliveries by the time of their events.
func byTime(a, b string) int { return strings.Compare(idOf(a), idOf(b)) }

// load returns what is known of all events, new ones included, without those that are long past.
func (s *Sender) load(ctx context.Context) (deliveries, error) {
	record, err := s.Ledger.Load(ctx)
	if err != nil {
		return nil, err
	}
	all := deliveries{}
	if len(record) > 0 {
		err = json.Unmarshal(record, &all)
	}
	ids, failed := s.Source.EventIDs(ctx)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}

	// Commands store the events that they cause. A missing day has no command, and is found here.
	late := event{}
	missing := false
	cur, _ := s.Store.Current() // without one no day is missing
	if served, err := s.Store.Manifest(cur.ID); err == nil {
		late, missing = s.missing(served, s.Now())
	}
	// New events wait from now on, for each target.
	for _, target := range s.targets() {
		for _, id := range ids {
			if name := target + " " + id; all[name] == nil {
				all[name] = &delivery{}
			}
		}
		if name := target + " " + late.id; missing && all[name] == nil {
			all[name] = &delivery{Body: string(late.body)}
		}
	}
	maps.DeleteFunc(all, func(name string, _ *delivery) bool {
		return s.Now().Sub(happenedAt(idOf(name))) > recordFor
	})
	return all, nil
}

// try tries a delivery once.
func (s *Sender) try(ctx context.Context, all deliveries, name string) {
	one := all[name]
	target, id, _ := strings.Cut(name, " ")
	made := event{id, []byte(one.Body)}
	var err error
	if one.Body == "" {
		made.body, err = s.Source.Event(ctx, id)
	}
	if err == nil && !s.wants(&made) {
		one.Done = true
		return
	}
	if err == nil {
		err = s.send(ctx, target, &made)
	}
	if err != nil && ctx.Err() != nil {
		return // the end of the sender broke it off
	}

	one.Tries++
	log := s.Log.With(slog.String("event", id), slog.String("to", target), slog.Int("tries", one.Tries))
	switch {
	case err == nil:
		one.Done = true
		s.counts.Sent++
		log.Info("event sent")
		// It answers again: what waits for it is tried without delay.
		for name, other := range all {
			if strings.HasPrefix(name, target+" ") {
				other.NextAt = time.Time{}
			}
		}
	case s.Now().Sub(happenedAt(id)) > retryFor:
		one.Done = true
		s.counts.Lost++
		log.Error("hook lost: no receiver took the event for three days", slog.Any("cause", err))
	default:
		one.NextAt = s.Now().Add(backoff(one.Tries))
		s.counts.Failed++
		log.Warn("hook waits: the receiver did not take an event, retrying", slog.Time("at", one.NextAt),
			slog.Any("cause", err))
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
