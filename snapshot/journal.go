package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// The actions of publications.
const (
	ActionPublish  = "publish"
	ActionRollback = "rollback"
)

// Publication is what is recorded of one move of the pointer.
type Publication struct {
	Current
	Action    string     `json:"action"`
	Guards    []Verdict  `json:"guards,omitempty"`
	Overrides []Override `json:"overrides,omitempty"`
}

// journalName is the file of the store's root that holds the publications.
const journalName = "PUBLICATIONS"

// journalLength is how many publications are remembered: more than a year of daily ones with their
// rollbacks.
const journalLength = 500

// journal is the content of the file, oldest first. The newest entry may be of a publication that
// never happened: it is written before the pointer moves.
type journal struct {
	Publications []Publication `json:"publications"`
}

// Publications are the recorded publications, oldest first. A damaged or missing journal has none:
// it explains the store, nothing is served by it.
func (d *Dir) Publications() ([]Publication, error) {
	cur, err := d.Current()
	if err != nil {
		return nil, err
	}
	return d.publications(cur), nil
}

// publications are the recorded publications up to the current one.
func (d *Dir) publications(cur Current) []Publication {
	b, err := os.ReadFile(filepath.Join(d.root, journalName))
	if err != nil {
		return nil
	}

	var j journal
	if openJSON(b, journalName, &j) != nil {
		return nil
	}

	// An entry above the pointer is of a publication that never happened.
	return slices.DeleteFunc(j.Publications, func(p Publication) bool {
		return p.Epoch > cur.Epoch || p.Epoch == cur.Epoch && p.Current != cur
	})
}

// record writes the journal with one more publication, before it happens: a crash in between leaves
// an entry with an epoch above the pointer's, which no reader counts and the next publication
// drops.
func (d *Dir) record(made Publication, old Current) error {
	all := append(d.publications(old), made)
	return d.replace(journalName, journal{all[max(0, len(all)-journalLength):]})
}

// lastCurrent maps each snapshot that was ever current, as far as recorded, to the instant until
// which it was; the current one maps to now.
func lastCurrent(past []Publication, now time.Time) map[string]time.Time {
	until := map[string]time.Time{}
	for i, p := range past {
		// A snapshot was current until the next publication.
		end := now
		if i+1 < len(past) {
			end = past[i+1].PublishedAt
		}
		until[p.ID] = end
	}

	return until
}
