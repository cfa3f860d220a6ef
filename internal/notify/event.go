// Package notify sends the events of a store to a webhook and to a command. They are signed as in
// Standard Webhooks, tried for three days, and never delay a release.
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"ninepocket/snapshot"
)

// The types of events.
const (
	Published  = "snapshot.published"
	Refused    = "snapshot.refused"
	RolledBack = "snapshot.rolled_back"
	DayMissing = "day.missing"
	GroupLate  = "group.held"
)

// Types are the types that a hook may ask for.
var Types = []string{Published, Refused, RolledBack, DayMissing, GroupLate}

const (
	// retryFor is how long an event is tried. Its outcome stays longer than its file.
	retryFor  = 72 * time.Hour
	recordFor = retryFor + 24*time.Hour
	fileFor   = retryFor + 12*time.Hour
	// idTime is the time of an event in its id, which begins with idPrefix.
	idTime   = "20060102T150405Z"
	idPrefix = "evt_"
	idDigest = len(idPrefix) + len(idTime)
)

// event is something that happened: its id, and the bytes that are sent.
type event struct {
	id   string
	body []byte
}

// content is the body of an event.
type content struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

// newEvent returns an event. The same type and key are the same event.
func newEvent(kind, key string, at time.Time, data any) (event, error) {
	body, err := json.Marshal(content{kind, at.UTC(), data})
	sum := sha256.Sum256([]byte(kind + "\n" + key))
	return event{fmt.Sprintf("%s%s_%x", idPrefix, at.UTC().Format(idTime), sum[:10]), body}, err
}

// happenedAt returns the time that a valid id has.
func happenedAt(id string) time.Time {
	at, _ := time.Parse(idTime, id[len(idPrefix):idDigest])
	return at
}

// Add stores an event in a store, unless the store has the same one, and removes old ones.
func Add(store *snapshot.Store, kind, key string, at time.Time, data any) error {
	made, err := newEvent(kind, key, at, data)
	if err != nil {
		return err
	}
	stored := store.Events()
	ids, err := stored.EventIDs(context.Background())
	if err != nil {
		return err
	}

	for _, id := range ids {
		switch {
		case at.Sub(happenedAt(id)) > fileFor:
			_ = stored.Remove(id) // one that stays is never sent
		case id[idDigest:] == made.id[idDigest:]:
			return nil
		}
	}
	return stored.Add(made.id, made.body)
}

const day = 24 * time.Hour

// Schedule says when a day is missing. Snapshots are published PublishesAt after midnight if Timed; else
// the day of the last one decides.
type Schedule struct {
	PublishesAt time.Duration
	Timed       bool
}

// due returns when the day after a snapshot is missing.
func (s *Schedule) due(snapshotAt time.Time) time.Time {
	midnight := snapshotAt.UTC().Truncate(day)
	if !s.Timed {
		return midnight.Add(day + 26*time.Hour)
	}

	// A snapshot may be published hours after its instant: the next one comes half a day later or more.
	at := midnight.Add(s.PublishesAt)
	for !at.After(snapshotAt.Add(day / 2)) {
		at = at.Add(day)
	}
	return at.Add(2 * time.Hour)
}

// missing returns the event of the last day that is missing: there is one for each.
func (s *Schedule) missing(served *snapshot.Manifest, now time.Time) (made event, missing bool) {
	due := s.due(served.SnapshotAt)
	if now.Before(due) {
		return made, false
	}
	late := int(now.Sub(due) / day)
	expected := served.SnapshotAt.UTC().AddDate(0, 0, late+1).Format(time.DateOnly)
	made, err := newEvent(DayMissing, expected, due.AddDate(0, 0, late), map[string]any{
		"day": expected, "snapshot_id": served.ID, "snapshot_at": served.SnapshotAt.UTC(),
	})
	return made, err == nil
}
