package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ninepocket/feed"
	"ninepocket/loader"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// Day is a day's work: a pull, a build on it, and a publication.
type Day struct {
	Pull  *Pull // nil pulls nothing
	Build Build // Run sets On and ArchivedDays
	Terms Terms
	// Tree is the folder of the pulled feed that the build reads; "" means none.
	Tree string
	// OnWarning receives warnings for the operator; the day continues.
	OnWarning func(text string)
}

// Report is the result of a day.
type Report struct {
	Pulled *feed.Result `json:"pulled"` // null without a pull
	Built  *Built       `json:"built"`
	// New is false if the built snapshot is already current.
	New       bool                   `json:"new"`
	Diff      *diff.Diff             `json:"diff"`
	Published bool                   `json:"published"`
	Guards    []snapshot.GuardResult `json:"guards,omitempty"`
	// Withdrawn means that this day was published before and rolled back.
	Withdrawn bool `json:"withdrawn,omitempty"`
}

// RolledBackError reports that the day was rolled back: a timer must not publish it again.
type RolledBackError struct {
	ID string // the built snapshot
	By snapshot.Withdrawal
}

func (e *RolledBackError) Error() string {
	what := "this day counts as rolled back"
	if at := e.By.PublishedAt; !at.IsZero() {
		what = "this day was rolled back at " + at.Format(time.RFC3339) + " by " + cmp.Or(e.By.By, "somebody")
	}
	if e.By.Reason != "" {
		what += " (" + e.By.Reason + ")"
	}
	return fmt.Sprintf("cannot publish %q: %s", e.ID, what)
}

// Run pulls, builds on the current snapshot, fills its missing days, compares and publishes. The
// report is nil if nothing was built. With a report, the error is a *snapshot.RefusedError, a
// *RolledBackError, or a *PullError; after a failed pull the day continued. The store records how the
// day ended.
func (d *Day) Run(ctx context.Context) (*Report, error) {
	begun := d.Terms.Now()
	report, err := d.work(ctx)
	verdict := snapshot.VerdictPublished
	switch _, refused := errors.AsType[*snapshot.RefusedError](err); {
	case report != nil && report.Withdrawn:
		verdict = snapshot.VerdictRolledBack
	case refused:
		verdict = snapshot.VerdictRefused
	case err != nil:
		verdict = snapshot.VerdictFailed
	case !report.New:
		verdict = snapshot.VerdictNothingNew
	}

	// Before the first build there is no store for the record.
	ended := d.Terms.Now()
	made := snapshot.DailyRun{At: ended.UTC(), Seconds: ended.Sub(begun).Seconds(), Verdict: verdict}
	failed := snapshot.RecordDaily(snapshot.OpenStore(d.Build.Store), made)
	if failed != nil && !errors.Is(failed, fs.ErrNotExist) {
		d.OnWarning("no hook can report the end of this day: " + failed.Error())
	}
	return report, err
}

// work is Run without the record.
func (d *Day) work(ctx context.Context) (*Report, error) {
	report := &Report{}
	var pullErr error
	if d.Pull != nil {
		report.Pulled, pullErr = d.Pull.Run(ctx)
	}
	// If the feed is unavailable today, a tree that an earlier run left unpublished is still
	// published.
	if pullErr != nil {
		if _, err := os.Stat(d.Tree); err != nil || ctx.Err() != nil {
			return nil, pullErr
		}
		d.OnWarning("the pull failed; the day continues with the local feed directory: " + pullErr.Error())
	}

	err := d.publish(ctx, report)
	switch _, refused := errors.AsType[*snapshot.RefusedError](err); {
	case err == nil:
		return report, pullErr
	case refused, report.Withdrawn:
		return report, err
	}
	return nil, err
}

// partlyOld is the guard that refuses a tree with some prices of the previous day.
const partlyOld = "feed_partly_old"

// setAside takes a tree out of use if it was pulled before the feed was ready. The ready feed reports
// the same time, so no pull would fetch it again.
func (d *Day) setAside(verdicts []snapshot.GuardResult) {
	partly := func(verdict snapshot.GuardResult) bool {
		return verdict.Name == partlyOld && verdict.Status == snapshot.Refused
	}
	built := func(in loader.Input) bool { return in.Path == d.Tree }
	if !slices.ContainsFunc(verdicts, partly) || !slices.ContainsFunc(d.Build.Sources, built) {
		return
	}

	moved, err := feed.SetAside(filepath.Dir(d.Tree))
	text := "the tree is set aside in " + moved + ", and the next run pulls it again"
	if err != nil {
		text = "cannot set the tree aside: " + err.Error()
	}
	d.OnWarning(text)
}

// publish builds on the current snapshot, compares and publishes.
func (d *Day) publish(ctx context.Context, report *Report) error {
	store := snapshot.OpenStore(d.Build.Store)
	// The first snapshot has no base. The published snapshot is the base, and never a refused build.
	cur, err := store.Current()
	d.Build.On = "current"
	if errors.Is(err, snapshot.ErrNoCurrent) || errors.Is(err, snapshot.ErrNoStore) {
		d.Build.On = "none"
		if stored, _ := store.List(); len(stored) > 0 {
			d.OnWarning(fmt.Sprintf("the store has %d snapshots and none of them is current: this day builds on none, "+
				"so that history begins with the archived days; to go on with the newest, run: ninepocket snapshot "+
				"publish %s --store %s", len(stored), stored[0].ID, d.Build.Store))
		}
	} else if err != nil {
		return err
	}
	d.Build.ArchivedDays, err = ArchivedDays("", d.Build.Sources)
	if err != nil {
		return err
	}

	// Read before the build, which replaces damaged snapshots.
	withdrawn, lost := store.Withdrawn()
	report.Built, err = d.Build.Run(ctx)
	if err != nil {
		return err
	}
	for _, warning := range report.Built.Warnings {
		d.OnWarning(warning)
	}
	// A build that filled days has read more input than the next build. The next build makes an equal
	// catalog with another id.
	made, err := store.Manifest(report.Built.ID)
	served, none := store.Manifest(cur.ID)
	if err == nil && none == nil && made.SameContent(served) {
		report.Built.ID = cur.ID
		report.Built.Path = store.Path(cur.ID)
		report.Built.Existing = true
	}
	id := report.Built.ID
	report.New = id != cur.ID
	if !report.New {
		return nil
	}

	report.Diff = d.compare(ctx, cur.ID, id)
	d.Terms.compared = report.Diff
	if lost != nil {
		d.OnWarning(fmt.Sprintf("nobody knows what was rolled back: %v; a day that was built before counts as rolled "+
			"back", lost))
	}
	// The base may differ; the feed must be the same.
	for _, by := range withdrawn {
		if by.Of.Equal(report.Built.SnapshotAt) {
			report.Withdrawn = true
			return &RolledBackError{id, by}
		}
	}

	_, err = d.Terms.Publish(id)
	report.Published = err == nil
	report.Built.Published = report.Published
	if refused, ok := errors.AsType[*snapshot.RefusedError](err); ok {
		report.Guards = refused.Verdicts
		d.setAside(refused.Verdicts)
	}
	return err
}

// maxChanges is how many changes of each kind a report lists.
const maxChanges = 20

// compare returns the changes since the current snapshot; nil if there is none. People read them, and
// the guards decide.
func (d *Day) compare(ctx context.Context, current, id string) *diff.Diff {
	if current == "" {
		return nil
	}
	// Compare written files: the build has released its base.
	var sides []*snapshot.Catalog
	for _, id := range []string{current, id} {
		side, err := snapshot.OpenStore(d.Build.Store).Load(ctx, id, nil)
		if err != nil {
			d.OnWarning(fmt.Sprintf("cannot compare with %s: %v", current, err))
			return nil
		}
		sides = append(sides, side)
	}
	return diff.Compare(sides[0], sides[1], diff.Options{Prefix: d.Terms.ProductPrefix, Limit: maxChanges})
}

// Tree returns the folder of the newest full download of a feed.
func Tree(into string) string { return filepath.Join(into, "current") }
