package operate

import (
	"slices"
	"strconv"
	"strings"

	"ninepocket/internal/notify"
	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// maxListed is how many groups an event lists.
const maxListed = 20

// record stores an event. The reported change is done, so that an error is only a warning.
func (t *Terms) record(kind, key string, data map[string]any) {
	err := notify.Add(snapshot.OpenStore(t.Store), kind, key, t.Now(), data)
	if err != nil && t.OnWarning != nil {
		t.OnWarning("hooks are not sent what happened: " + err.Error())
	}
}

// recordRefusal stores the event of a refusal.
func (t *Terms) recordRefusal(refused *snapshot.RefusedError) {
	guards := refused.Guards()
	names := []string{refused.ID}
	for _, verdict := range guards {
		names = append(names, verdict.Name)
	}
	// The same refusal, evening after evening, is one event.
	data := map[string]any{"snapshot_id": refused.ID, "guards": guards, "by": t.By}
	if t.Override != nil {
		data["command"] = t.Override(refused)
	}
	t.record(notify.Refused, strings.Join(names, " "), data)
}

// lateGroup is a group that a feed has no usable prices of.
type lateGroup struct {
	Group  string `json:"group"` // the feed's own key
	Set    string `json:"set,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// lateGroups returns the groups without prices on the date of a catalog.
func lateGroups(catalog *snapshot.Catalog) (all []lateGroup) {
	for i, day := range catalog.Gaps.Day {
		late := lateGroup{Group: catalog.Gaps.Group.At(i), Reason: catalog.GapReason(i)}
		if late.Group == "" || day != catalog.Date() {
			continue
		}
		if set := catalog.Gaps.Set[i]; set != snapshot.NoSet {
			late.Set = catalog.Sets.Name.At(int(set))
		}
		all = append(all, late)
	}
	return all
}

// recordPublication stores the events of a release; current is nil for the first one.
func (t *Terms) recordPublication(cur *snapshot.Current, current, next *snapshot.StoredSnapshot) {
	key := strconv.FormatUint(cur.Epoch, 10) + " " + cur.ID
	data := map[string]any{
		"snapshot_id": cur.ID, "epoch": cur.Epoch, "previous": cur.Previous, "by": t.By,
		"overrides":   append([]snapshot.Override{}, t.Overrides...),
		"snapshot_at": next.Manifest.SnapshotAt, "counts": next.Manifest.Counts,
	}
	late := lateGroups(next.Catalog)
	if current != nil {
		changes := t.compared
		if changes == nil {
			options := diff.Options{Prefix: t.ProductPrefix, Limit: maxChanges}
			changes = diff.Compare(current.Catalog, next.Catalog, options)
		}
		data["prices"] = changes.Prices
		data["cards_added"] = changes.Cards.Added
		data["cards_removed"] = changes.Cards.Removed

		// Only groups that had prices until now are reported.
		before := lateGroups(current.Catalog)
		late = slices.DeleteFunc(late, func(group lateGroup) bool {
			return slices.ContainsFunc(before, func(old lateGroup) bool { return old.Group == group.Group })
		})
	}
	t.record(notify.Published, key, data)
	if len(late) > 0 {
		t.record(notify.GroupLate, key, map[string]any{
			"snapshot_id": cur.ID, "count": len(late), "groups": late[:min(len(late), maxListed)],
		})
	}
}

// RecordRollback stores the event of a rollback.
func (t *Terms) RecordRollback(cur *snapshot.Current, reason string) {
	t.record(notify.RolledBack, strconv.FormatUint(cur.Epoch, 10)+" "+cur.ID, map[string]any{
		"snapshot_id": cur.ID, "epoch": cur.Epoch, "previous": cur.Previous, "by": t.By, "reason": reason,
		"discarded_days": cur.Discarded,
	})
}
