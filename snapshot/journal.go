package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/internal/disk"
)

// The actions of releases.
const (
	ActionPublish  = "publish"
	ActionRollback = "rollback"
)

// Publication is the record of one change of CURRENT, the file that names the published snapshot. It
// has the new content of that file.
type Publication struct {
	Current
	Action    string        `json:"action"`
	Guards    []GuardResult `json:"guards,omitempty"`
	Overrides []Override    `json:"overrides,omitempty"` // as given; Guards has the overrides that counted
	By        string        `json:"by,omitempty"`        // the person or program, by the caller
	Reason    string        `json:"reason,omitempty"`    // the reason, if one was given
}

// Refusal is the record of a snapshot that guards refused.
type Refusal struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
	By string    `json:"by,omitempty"`
	// Guards are the verdicts of the guards that refused it.
	Guards []GuardResult `json:"guards"`
}

// refusalsName is the file of the store's root that holds the refusals.
const refusalsName = "REFUSALS"

// maxRefusals is the number of stored refusals: enough for every snapshot that a store usually
// keeps.
const maxRefusals = 200

// refusals is the content of the file: the last refusal of each snapshot, oldest first.
type refusals struct {
	Refusals []Refusal `json:"refusals"`
}

// Refusals are the last refusals of snapshots, oldest first. A snapshot that was published later is
// here, too. There are none when the file is missing or damaged.
func (d *Store) Refusals() []Refusal {
	var all refusals
	if d.readChecksummed(refusalsName, &all) != nil {
		return nil
	}
	return all.Refusals
}

// readChecksummed reads a file of the store's root into v, and verifies its checksum.
func (d *Store) readChecksummed(name string, v any) error {
	b, err := disk.ReadFile(d.disk, filepath.Join(d.root, name))
	if err != nil {
		return err
	}
	return decodeChecksummed(b, name, v)
}

// recordRefusal writes a refusal down, for people to read. The release was refused anyway, so an
// error does not matter.
func (d *Store) recordRefusal(refused *RefusedError, o *PublishOptions) {
	made := Refusal{ID: refused.ID, At: o.Now.UTC(), By: o.By, Guards: refused.Guards()}
	all := slices.DeleteFunc(d.Refusals(), func(refusal Refusal) bool { return refusal.ID == made.ID })
	all = append(all, made)
	_ = d.replace(refusalsName, refusals{all[max(0, len(all)-maxRefusals):]})
}

// journalName is the file of the store's root that holds the releases.
const journalName = "PUBLICATIONS"

// maxPublications is the number of stored releases: more than a year of daily releases with their
// rollbacks.
const maxPublications = 500

// publicationLog is the content of the file, oldest first. An entry is written before the pointer
// moves (decision 92), so the newest may be of a release that never happened.
type publicationLog struct {
	Publications []Publication `json:"publications"`
}

// Publications are the recorded releases, oldest first. There are none when the journal is
// missing or damaged.
func (d *Store) Publications() ([]Publication, error) {
	cur, err := d.Current()
	if err != nil {
		return nil, err
	}
	return d.publications(cur), nil
}

// publications are the recorded releases up to the current one.
func (d *Store) publications(cur Current) []Publication {
	past, _ := d.readJournal() // a damaged one has none

	// An entry above the pointer belongs to a release that never happened.
	return slices.DeleteFunc(past, func(publication Publication) bool {
		return publication.Epoch > cur.Epoch || publication.Epoch == cur.Epoch && publication.Current != cur
	})
}

// EverPublished reports whether the journal records a release, or cannot be read. CURRENT may be
// gone, and a crash may have prevented the release.
func (d *Store) EverPublished() bool {
	past, err := d.readJournal()
	return err != nil || len(past) > 0
}

// readJournal returns the records of the journal. A missing journal has none.
func (d *Store) readJournal() ([]Publication, error) {
	var j publicationLog
	err := d.readChecksummed(journalName, &j)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return j.Publications, nil
	case errors.Is(err, ErrDamaged):
		return nil, fmt.Errorf("store %q: %w", d.root, err)
	}
	return nil, fmt.Errorf("cannot read the releases of store %q: %w", d.root, err)
}

// Published returns the ids of the released snapshots, each once, as far as the journal goes back.
// The latest release comes first, and snapshots that a rollback withdrew come last (decision 96).
// Retention may have removed some of the snapshots. Without CURRENT there are none.
//
// If CURRENT is there and cannot be read, every entry of the journal counts. The newest may then be of a
// release that a crash prevented. That does no harm: its checks and guards had passed.
func (d *Store) Published() ([]string, error) {
	cur, err := d.Current()
	if errors.Is(err, ErrNoCurrent) {
		return nil, nil
	}

	var past []Publication
	if err == nil {
		past = d.publications(cur)
	} else {
		past, err = d.readJournal()
	}
	if err != nil {
		return nil, err
	}

	if len(past) == 0 {
		// Without a journal, the pointer knows only the current and the previous snapshot.
		past = []Publication{{Current: Current{ID: cur.Previous}}, {Current: cur}}
	}

	return latestFirst(past), nil
}

// latestFirst returns the ids of the releases in the order that Published promises.
func latestFirst(past []Publication) []string {
	var ids, withdrawn []string
	seen := map[string]bool{"": true}
	for _, publication := range slices.Backward(past) {
		if !seen[publication.ID] {
			seen[publication.ID] = true
			ids = append(ids, publication.ID)
		}
		if publication.Action == ActionRollback && !seen[publication.Previous] {
			seen[publication.Previous] = true
			withdrawn = append(withdrawn, publication.Previous)
		}
	}

	return append(ids, withdrawn...)
}

// record adds a release to the journal before it happens (decision 92). A crash in between leaves an
// entry that CURRENT does not confirm. Readers of CURRENT ignore the entry, and the next release drops
// it. Without a readable CURRENT it counts.
func (d *Store) record(made Publication, old Current) error {
	all := append(d.publications(old), made)
	return d.replace(journalName, publicationLog{all[max(0, len(all)-maxPublications):]})
}

// currentUntil says of each recorded snapshot when it was last current. For the snapshot that is
// current that is now.
func currentUntil(past []Publication, now time.Time) map[string]time.Time {
	until := map[string]time.Time{}
	for i, publication := range past {
		// A snapshot was current until the next release.
		end := now
		if i+1 < len(past) {
			end = past[i+1].PublishedAt
		}

		until[publication.ID] = end
	}

	return until
}
