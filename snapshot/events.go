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

// eventsName is the folder of a store with its events, a file each; eventSuffix ends their names.
const (
	eventsName  = "events"
	eventSuffix = ".json"
)

// eventID matches the ids of events, which are names of files and of objects.
var eventID = regexp.MustCompile(`^evt_[A-Za-z0-9_]{1,60}$`)

// ValidEventID reports whether a text can be the id of an event.
func ValidEventID(id string) bool { return eventID.MatchString(id) }

// eventPath returns the file of an event.
func (d *Store) eventPath(id string) string { return filepath.Join(d.root, eventsName, id+eventSuffix) }

// AddEvent stores an event, which hooks are sent: something that happened to the store. The body is
// stored as it is.
func (d *Store) AddEvent(id string, body []byte) error {
	folder := filepath.Join(d.root, eventsName)
	err := disk.MkdirAll(d.disk, folder, 0o755)
	if err == nil {
		err = disk.Replace(d.disk, filepath.Join(folder, id+".tmp"), d.eventPath(id), body, 0o644)
	}
	if err != nil {
		return fmt.Errorf("cannot store an event in store %q: %w", d.root, err)
	}
	return nil
}

// EventIDs returns the ids of all events of the store, ascending.
func (d *Store) EventIDs(context.Context) (ids []string, err error) {
	entries, err := d.disk.List(filepath.Join(d.root, eventsName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cannot list the events of store %q: %w", d.root, err)
	}
	for _, entry := range entries {
		id, ours := strings.CutSuffix(entry.Name(), eventSuffix)
		if ours && ValidEventID(id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Event returns the body of an event.
func (d *Store) Event(_ context.Context, id string) ([]byte, error) {
	return disk.ReadFile(d.disk, d.eventPath(id))
}

// RemoveEvent removes an event.
func (d *Store) RemoveEvent(id string) error { return d.disk.Remove(d.eventPath(id)) }

// dailyName is the file of the store's root with the last day's work.
const dailyName = "DAILY"

// The verdicts of a day's work.
const (
	VerdictPublished  = "published"
	VerdictNothingNew = "nothing_new"
	VerdictRefused    = "refused"
	VerdictRolledBack = "rolled_back" // the day was rolled back before, and stays so
	VerdictFailed     = "failed"      // the pull or the build, whatever was published of the rest
)

// Verdicts are all verdicts of a day's work.
var Verdicts = []string{
	VerdictPublished, VerdictNothingNew, VerdictRefused, VerdictRolledBack, VerdictFailed,
}

// DailyRun is the record of a day's work.
type DailyRun struct {
	At         time.Time `json:"at"` // its end
	Seconds    float64   `json:"seconds"`
	Verdict    string    `json:"verdict"`
	SnapshotID string    `json:"snapshot_id,omitempty"` // that was built
	Error      string    `json:"error,omitempty"`
}

// RecordDaily records a day's work in the place of the one before.
func (d *Store) RecordDaily(run *DailyRun) error { return d.replace(dailyName, run) }

// LastDaily returns the last recorded day's work; fs.ErrNotExist if there is none.
func (d *Store) LastDaily() (run DailyRun, err error) {
	err = d.readChecksummed(dailyName, &run)
	return run, err
}
