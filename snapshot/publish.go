package snapshot

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/internal/disk"
)

// StoredSnapshot is a snapshot read back from its store.
type StoredSnapshot struct {
	Manifest *Manifest
	Catalog  *Catalog
}

// PublishOptions says under which conditions a snapshot becomes the current one.
type PublishOptions struct {
	Now time.Time
	// Check refuses a snapshot that the engine could not serve.
	Check func(*Catalog) error
	// Judge lets the guards compare the snapshot with the current one (decision 89). current is nil
	// when nothing is published, or when the published snapshot does not load. A nil Judge means no
	// guards.
	Judge func(current, next *StoredSnapshot) []GuardResult
	// Overrides are the guards whose refusal does not count.
	Overrides []Override
	// DiscardDay has a rollback exclude the withdrawn day from the history.
	DiscardDay bool
	// By names the publisher, and Reason the reason. Both are recorded, and both may be "".
	By, Reason string
	// OnWarning receives warnings for the operator of a release that continues; may be nil.
	OnWarning func(text string)
	// Retention applies once the pointer has moved; its zero value removes nothing.
	Retention Retention
}

// The statuses of a guard result.
const (
	Passed     = "passed"
	Refused    = "refused"
	Overridden = "overridden" // refused, and published for a recorded reason
	Skipped    = "skipped"    // nothing to compare with, or too little to judge
)

// GuardResult is one guard's verdict on a snapshot, as `snapshot inspect` shows it.
type GuardResult struct {
	Name   string  `json:"name"`
	Status string  `json:"status"`
	Value  float64 `json:"figure"` // the guard's measure
	Limit  float64 `json:"limit"`  // the most that the figure may be, or the least: the text says which
	// Message describes the finding in a sentence. After a refusal, it also gives the remedy.
	Message string `json:"text"`
}

// Override lets a snapshot pass one guard, for a reason that is recorded with the release.
type Override struct {
	Guard  string `json:"guard"`
	Reason string `json:"reason"`
}

// RefusedError names the guards that refused a snapshot.
type RefusedError struct {
	ID       string
	Verdicts []GuardResult // of all guards
}

func (e *RefusedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "snapshot %q is refused by its guards", e.ID)
	for _, v := range e.Guards() {
		fmt.Fprintf(&b, "\n  guard %s: %s", v.Name, v.Message)
	}

	return b.String()
}

// Guards are the verdicts of the guards that refused.
func (e *RefusedError) Guards() []GuardResult {
	return slices.DeleteFunc(slices.Clone(e.Verdicts), func(v GuardResult) bool { return v.Status != Refused })
}

// Publish makes a snapshot the current one. It reads the snapshot back and verifies it, asks the
// check and the guards, and records their verdicts. On an error the current snapshot stays, with
// two exceptions: the last fsync may fail after the pointer has moved, and so may the retention. A
// refusal by guards is a *RefusedError. To publish the current snapshot again changes nothing.
func (d *Store) Publish(id string, o PublishOptions) (Current, error) {
	// lock creates the store's folders. Do not make a store for a snapshot that it does not have.
	if _, err := d.Manifest(id); err != nil {
		return Current{}, fmt.Errorf("cannot publish a snapshot: %w", err)
	}

	unlock, err := d.lock()
	if err != nil {
		return Current{}, err
	}
	defer unlock()

	next, err := d.read(context.Background(), id, decodeOptions{verifySHA256: true})
	if err != nil {
		return Current{}, fmt.Errorf("cannot publish a snapshot: %w", err)
	}

	// The check sees the snapshot that was read back.
	if err := o.Check(next.Catalog); err != nil {
		return Current{}, fmt.Errorf("cannot publish snapshot %q: %w", id, err)
	}

	old, damaged, err := d.pointer()
	if err != nil {
		return Current{}, err
	}
	if old.ID == id && !damaged {
		return old, nil
	}

	made := Publication{Action: ActionPublish, Overrides: o.Overrides, By: o.By, Reason: o.Reason}
	if o.Judge != nil {
		current, err := d.LoadStored(context.Background(), old.ID)
		if err != nil {
			// A damaged catalog must not prevent the release that replaces it (decision 89).
			current = nil
		}
		made.Guards = override(o.Judge(current, next), o.Overrides)
		if refused := (&RefusedError{id, made.Guards}); len(refused.Guards()) > 0 {
			d.recordRefusal(refused, &o)
			return Current{}, fmt.Errorf("cannot publish a snapshot: %w", refused)
		}
	}

	made.Current = nextPointer(old, id, o.Now)
	DeltasOf(d).Record(context.Background(), &made.Current, DeltasOf(d).Add, o.OnWarning)
	return d.commit(made, old, o.Retention)
}

// Rollback makes an earlier snapshot the current one again, as a new release. When id is "", it
// takes the snapshot that the current one replaced at its release. So two rollbacks in a row go
// back two releases (decision 87). Rollback verifies and checks like Publish, but runs no guards
// and removes nothing. With DiscardDay the id may be the current one: then the day of the replaced
// snapshot is discarded.
func (d *Store) Rollback(id string, o PublishOptions) (Current, error) {
	unlock, err := d.lock()
	if err != nil {
		return Current{}, err
	}
	defer unlock()

	old, damaged, err := d.pointer()
	if err != nil {
		return Current{}, err
	}

	if id == "" {
		id = d.predecessor(old)
	}
	if id == "" {
		return Current{}, fmt.Errorf("cannot roll back: %w", ErrNoPrevious)
	}

	stays := id == old.ID && !damaged
	if stays && !o.DiscardDay {
		return Current{}, fmt.Errorf("cannot roll back to snapshot %q: it is the current one", id)
	}

	to, err := d.read(context.Background(), id, decodeOptions{verifySHA256: true})
	if err == nil {
		err = o.Check(to.Catalog)
	}
	if err != nil {
		return Current{}, fmt.Errorf("cannot roll back to snapshot %q: %w", id, err)
	}

	made := Publication{Current: nextPointer(old, id, o.Now), Action: ActionRollback, By: o.By, Reason: o.Reason}
	if stays {
		made.Previous = old.Previous
	}
	if o.DiscardDay {
		days := made.WithdrawnDays()
		if len(days) == 0 {
			return Current{}, fmt.Errorf("cannot discard a day: snapshot %q took the place of no later day", id)
		}
		for _, day := range days {
			made.discard(day.String())
		}
	}
	DeltasOf(d).Record(context.Background(), &made.Current, DeltasOf(d).Add, o.OnWarning)
	return d.commit(made, old, Retention{})
}

// predecessor is the id of the snapshot that cur replaced when it was published (decision 87). It
// is "" when unknown.
func (d *Store) predecessor(cur Current) string {
	past := d.publications(cur)
	for _, publication := range slices.Backward(past) {
		if publication.ID == cur.ID && publication.Action == ActionPublish {
			return publication.Previous
		}
	}

	// The journal is missing or damaged, or the store is older than journals.
	if len(past) == 0 {
		return cur.Previous
	}

	return ""
}

// pointer reads CURRENT for a writer. A missing or damaged CURRENT must not prevent a release, so
// it is no error. When CURRENT is damaged, pointer takes its content from the journal (decision
// 92).
func (d *Store) pointer() (cur Current, damaged bool, err error) {
	cur, err = d.Current()
	switch {
	case errors.Is(err, ErrNoCurrent):
		return Current{}, false, nil
	case !errors.Is(err, ErrDamaged):
		return cur, false, err
	}

	// The epoch must grow with every release: it shows followers that a release is new.
	if past := d.publications(Current{Epoch: math.MaxUint64}); len(past) > 0 {
		return past[len(past)-1].Current, true, nil
	}

	return Current{Epoch: unknownEpoch}, true, nil
}

// unknownEpoch stands for an unknown epoch: CURRENT and the journal are both lost.
const unknownEpoch = math.MaxUint64

// nextPointer is the pointer that replaces old.
func nextPointer(old Current, id string, now time.Time) Current {
	next := Current{Epoch: old.Epoch + 1, ID: id, PublishedAt: now.UTC(), Previous: old.ID}
	next.Discarded = old.Discarded
	next.discard("")
	if old.Epoch == unknownEpoch {
		// Epochs count releases, so the seconds since 1970 are above any epoch that was lost.
		next.Epoch = uint64(now.Unix())
	}
	return next
}

// builtFrom are the sections that only describe a snapshot's sources.
var builtFrom = []string{"registry", "gaps", "gap_reasons", "unclaimed"}

// SameContent reports whether two snapshots serve equal content. The records of their builds may
// differ: the refused rows, the missing days, and all references so far.
func (m *Manifest) SameContent(other *Manifest) bool {
	served := func(m *Manifest) []Section {
		built := func(s Section) bool { return slices.Contains(builtFrom, s.Name) }
		return slices.DeleteFunc(slices.Clone(m.ServingSections()), built)
	}
	return m.SnapshotAt.Equal(other.SnapshotAt) && slices.Equal(served(m), served(other))
}

// override turns refusals that have an override into Overridden.
func override(verdicts []GuardResult, overrides []Override) []GuardResult {
	for i := range verdicts {
		for _, override := range overrides {
			if v := &verdicts[i]; v.Name == override.Guard && v.Status == Refused {
				v.Status = Overridden
			}
		}
	}

	return verdicts
}

// commit records a release, moves the pointer, and then removes the snapshots beyond the
// retention.
func (d *Store) commit(made Publication, old Current, r Retention) (Current, error) {
	if err := d.record(made, old); err != nil {
		return Current{}, fmt.Errorf("cannot record the release of snapshot %q: %w", made.ID, err)
	}

	if err := d.replace("CURRENT", made.Current); err != nil {
		return Current{}, fmt.Errorf("cannot publish snapshot %q: %w", made.ID, err)
	}
	DeltasOf(d).prune(made.Epoch)

	if r.RetainCount > 0 {
		if _, err := d.prune(r, made.PublishedAt); err != nil {
			return made.Current, fmt.Errorf("snapshot %q is published, but %w", made.ID, err)
		}
	}

	return made.Current, nil
}

// replace adds the checksum line to v and makes it the content of a file in the store's root. The
// change is atomic, and durable when replace returns.
func (d *Store) replace(name string, v any) error {
	b, err := encodeChecksummed(v)
	if err != nil {
		return err
	}

	return disk.Replace(d.disk, d.tmp(name), filepath.Join(d.root, name), b, 0o644)
}
