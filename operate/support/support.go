// Package support packs what a bug report needs: figures from an allow-list, without secrets, addresses and names.
package support

import (
	"bytes"
	"fmt"
	"io"

	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/snapshot"
)

// Sources are where a bundle is collected from.
type Sources struct {
	Program any // versions, encoded as JSON
	Config  *settings.Merged
	Store   *snapshot.Store
	Log     io.Reader // of a server; nil for none
}

// Collect returns a bundle: a report in JSON, and below it the public part of the log.
func Collect(from *Sources) ([]byte, error) {
	var text bytes.Buffer
	err := term.JSON(&text, map[string]any{
		"program": from.Program, "settings": from.Config.Public(), "snapshot": describe(from.Store),
	})
	if err == nil && from.Log != nil {
		err = filterLog(&text, from.Log)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot collect the bundle: %w", err)
	}
	return text.Bytes(), nil
}

// describe returns the figures of a store. A store that cannot be read is a finding, and its error may name folders.
func describe(store *snapshot.Store) map[string]any {
	found := map[string]any{"problem": "nothing is published, or it cannot be read"}
	for _, refusal := range store.Refusals() {
		found["last_refusal"] = verdicts(refusal.Guards)
	}
	if day, err := snapshot.LastDaily(store); err == nil {
		found["last_daily"] = day
	}
	past, _ := store.Publications() // a damaged journal has none
	for _, publication := range past {
		found["guards"] = verdicts(publication.Guards)
	}

	cur, _ := store.Current() // without one nothing is found below
	all, _ := store.List()
	for _, m := range all {
		if m.ID == cur.ID {
			found["current"] = map[string]any{
				"id": cur.ID, "epoch": cur.Epoch, "published_at": cur.PublishedAt, "snapshot_at": m.SnapshotAt,
				"format": m.Format, "counts": m.Counts, "bytes": m.Bytes(),
			}
			delete(found, "problem")
		}
	}
	return found
}

// verdicts returns the figures of guards without their sentences, which may name sets and files.
func verdicts(results []snapshot.GuardResult) (all []string) {
	for _, result := range results {
		all = append(all, fmt.Sprintf("%s %s: %g, limit %g", result.Name, result.Status, result.Value, result.Limit))
	}
	return all
}
