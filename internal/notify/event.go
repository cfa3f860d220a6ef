// Package notify sends what happened to a store to a webhook and to a command, as Standard Webhooks
// has it: signed, retried for three days, and never in the way of a publication.
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ninepocket/snapshot"
)

// The types of events.
const (
	TypePublished  = "snapshot.published"
	TypeRefused    = "snapshot.refused"
	TypeRolledBack = "snapshot.rolled_back"
	TypeDayMissing = "day.missing"
	TypeGroupHeld  = "group.held"
	// TypeTest is of the event of a test alone.
	TypeTest = "notify.test"
)

// Types are the types that a hook may ask for.
var Types = []string{TypePublished, TypeRefused, TypeRolledBack, TypeDayMissing, TypeGroupHeld}

const (
	// retryFor is how long an event is tried.
	retryFor = 72 * time.Hour
	// retention is how long events and what is known of them stay. It is longer, so that no event is
	// forgotten before its file is gone.
	retention = retryFor + 48*time.Hour
	// idTime is how an id has the time of its event.
	idTime = "20060102T150405Z"
)

// Event is something that happened, with the bytes that are sent.
type Event struct {
	ID   string
	Body []byte
}

// body is the body of an event, as Standard Webhooks recommends it.
type body struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// New returns an event. What has the same type and key is the same event.
func New(kind, key string, at time.Time, data any) (Event, error) {
	at = at.UTC().Truncate(time.Second)
	text, err := json.Marshal(body{kind, at, data})
	if err != nil {
		return Event{}, fmt.Errorf("cannot encode event %s: %w", kind, err)
	}
	sum := sha256.Sum256([]byte(kind + "\n" + key))
	return Event{fmt.Sprintf("evt_%s_%x", at.Format(idTime), sum[:10]), text}, nil
}

// happenedAt returns the time of an event, which its id has; zero if it has none.
func happenedAt(id string) time.Time {
	parts := strings.Split(id, "_")
	at, err := time.Parse(idTime, parts[min(1, len(parts)-1)])
	if err != nil {
		return time.Time{}
	}
	return at
}

// Add stores an event in a store, unless the store has the same one already, and removes old events.
func Add(store *snapshot.Store, kind, key string, at time.Time, data any) error {
	event, err := New(kind, key, at, data)
	if err != nil {
		return err
	}
	ids, err := store.EventIDs(context.Background())
	if err != nil {
		return err
	}

	_, what, _ := strings.Cut(strings.TrimPrefix(event.ID, "evt_"), "_")
	for _, id := range ids {
		switch {
		case at.Sub(happenedAt(id)) > retention:
			// One that stays is only too old to be sent.
			_ = store.RemoveEvent(id)
		case strings.HasSuffix(id, "_"+what):
			return nil
		}
	}
	return store.AddEvent(event.ID, event.Body)
}

// dayMissing is the data of TypeDayMissing.
type dayMissing struct {
	Day        string    `json:"day"` // that was expected
	SnapshotID string    `json:"snapshot_id"`
	SnapshotAt time.Time `json:"snapshot_at"`
}

// Schedule says when a day counts as missing.
type Schedule struct {
	// PublishesAt is how long after midnight, UTC, snapshots are published, if Timed.
	PublishesAt time.Duration
	Timed       bool
}

const (
	day = 24 * time.Hour
	// lateAfter is how long after its day the snapshot of the next day is awaited, and lateAfterTime
	// how long after its time.
	lateAfter     = 26 * time.Hour
	lateAfterTime = 2 * time.Hour
)

// due returns when the day after a snapshot counts as missing.
func (s *Schedule) due(snapshotAt time.Time) time.Time {
	midnight := snapshotAt.UTC().Truncate(day)
	if !s.Timed {
		return midnight.Add(day + lateAfter)
	}

	// The snapshot itself may be published hours after its instant: half a day later is another one.
	at := midnight.Add(s.PublishesAt)
	for !at.After(snapshotAt.Add(day / 2)) {
		at = at.Add(day)
	}
	return at.Add(lateAfterTime)
}

// Missing returns the event of the last day that is missing now, if one is: one event for each day.
func (s *Schedule) Missing(served *snapshot.Manifest, now time.Time) (event Event, missing bool) {
	due := s.due(served.SnapshotAt)
	if now.Before(due) {
		return Event{}, false
	}

	// Of later days each is late a day later.
	late := now.Sub(due) / day
	expected := served.SnapshotAt.UTC().Truncate(day).Add((late + 1) * day).Format(time.DateOnly)
	event, err := New(TypeDayMissing, expected, due.Add(late*day),
		dayMissing{expected, served.ID, served.SnapshotAt.UTC()})
	return event, err == nil
}
