package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"ninepocket/internal/disk"
)

// eventID matches the ids of events: their time, and a part that makes them unique.
var eventID = regexp.MustCompile(`^evt_\d{8}T\d{6}Z_[0-9a-f]{20}$`)

// ValidEventID reports whether a text is the id of an event.
func ValidEventID(id string) bool { return eventID.MatchString(id) }

// Events are the events of a store, a file each, which hooks send.
type Events struct {
	folder string
	disk   disk.FS
}

// Events returns the events of the store.
func (d *Store) Events() Events { return Events{filepath.Join(d.root, "events"), d.disk} }

func (events Events) path(id string) string { return filepath.Join(events.folder, id+".json") }

// Add stores an event as it is.
func (events Events) Add(id string, body []byte) error {
	if err := put(events.disk, events.path(id), body); err != nil {
		return fmt.Errorf("cannot store an event in %q: %w", events.folder, err)
	}
	return nil
}

// EventIDs returns the ids of all events, ascending, which is by time.
func (events Events) EventIDs(context.Context) (ids []string, err error) {
	entries, err := events.disk.List(events.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list the events in %q: %w", events.folder, err)
	}
	for _, entry := range entries {
		if id, whole := strings.CutSuffix(entry.Name(), ".json"); whole && ValidEventID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Event returns a stored event.
func (events Events) Event(_ context.Context, id string) ([]byte, error) {
	return disk.ReadFile(events.disk, events.path(id))
}

// Remove removes an event.
func (events Events) Remove(id string) error { return events.disk.Remove(events.path(id)) }

// The verdicts of a day's work.
const (
	VerdictPublished  = "published"
	VerdictNothingNew = "nothing_new"
	VerdictRefused    = "refused"
	VerdictRolledBack = "rolled_back" // the day was rolled back before, and stays so
	VerdictFailed     = "failed"      // the pull or the build, also where the rest was published
)

// DailyRun is the record of a day's work.
type DailyRun struct {
	At      time.Time `json:"at"` // its end
	Seconds float64   `json:"seconds"`
	Verdict string    `json:"verdict"`
}

// dailyName is the file of the store's root with the last day's work.
const dailyName = "DAILY"

// RecordDaily records a day's work on a store, in place of the previous record.
func RecordDaily(on *Store, run DailyRun) error { return on.replace(dailyName, run) }

// LastDaily returns the last day's work on a store; fs.ErrNotExist if there was none.
func LastDaily(on *Store) (run DailyRun, err error) {
	err = on.readChecksummed(dailyName, &run)
	return run, err
}
