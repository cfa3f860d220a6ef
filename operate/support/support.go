// Package support packs what a bug report needs: figures from an allow-list, without secrets, addresses and names.
package support

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

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

// File is a file of a bundle.
type File struct {
	Name string
	Text []byte
}

// verdict is a guard's figure without its sentence, which may name sets and files.
type verdict struct {
	Guard  string  `json:"guard"`
	Status string  `json:"status"`
	Figure float64 `json:"figure"`
	Limit  float64 `json:"limit"`
}

// published is what a store says of the current snapshot and of the last day.
type published struct {
	ID         string             `json:"snapshot_id"`
	Epoch      uint64             `json:"epoch"`
	At         time.Time          `json:"published_at"`
	SnapshotAt time.Time          `json:"snapshot_at"`
	Format     int                `json:"format"`
	Counts     snapshot.Counts    `json:"counts"`
	Bytes      int64              `json:"bytes"`
	Daily      *snapshot.DailyRun `json:"last_daily"`
	Guards     []verdict          `json:"guards"`
	Refused    []verdict          `json:"last_refusal"`
	Problem    string             `json:"problem,omitempty"`
}

// Collect returns the files of a bundle, which are all that Pack packs.
func Collect(from *Sources) ([]File, error) {
	files := []File{{Name: "versions.json"}, {Name: "settings.json"}, {Name: "snapshot.json"}}
	for i, v := range []any{from.Program, from.Config.Public(), describe(from.Store)} {
		var text bytes.Buffer
		if err := term.JSON(&text, v); err != nil {
			return nil, fmt.Errorf("cannot write %s: %w", files[i].Name, err)
		}
		files[i].Text = text.Bytes()
	}
	if from.Log == nil {
		return files, nil
	}

	text, err := filterLog(from.Log)
	if err != nil {
		return nil, fmt.Errorf("cannot read the log: %w", err)
	}
	return append(files, File{"log.txt", text}), nil
}

// describe returns the figures of a store. A store that cannot be read is a finding, and its error may name folders.
func describe(store *snapshot.Store) (found published) {
	for _, refusal := range store.Refusals() {
		found.Refused = verdicts(refusal.Guards)
	}
	if day, err := snapshot.LastDaily(store); err == nil {
		found.Daily = &day
	}

	cur, err := store.Current()
	if err != nil {
		found.Problem = "nothing is published"
		if !errors.Is(err, snapshot.ErrNoCurrent) {
			found.Problem = "the pointer CURRENT cannot be read"
		}
		return found
	}
	found.ID = cur.ID
	found.Epoch = cur.Epoch
	found.At = cur.PublishedAt
	past, _ := store.Publications() // a damaged journal has none
	if len(past) > 0 {
		found.Guards = verdicts(past[len(past)-1].Guards)
	}

	all, _ := store.List() // a snapshot that cannot be listed is not found below
	found.Problem = "the published snapshot cannot be read"
	for _, m := range all {
		if m.ID != cur.ID {
			continue
		}
		found.SnapshotAt = m.SnapshotAt
		found.Format = m.Format
		found.Counts = m.Counts
		found.Bytes = m.Bytes()
		found.Problem = ""
	}
	return found
}

func verdicts(results []snapshot.GuardResult) []verdict {
	all := []verdict{}
	for _, result := range results {
		all = append(all, verdict{result.Name, result.Status, result.Value, result.Limit})
	}
	return all
}

// Print writes everything that is in a bundle, for its owner to read.
func Print(w io.Writer, files []File) error {
	for _, file := range files {
		if _, err := fmt.Fprintf(w, "--- %s\n%s\n", file.Name, file.Text); err != nil {
			return err
		}
	}
	return nil
}

// Pack returns the files as a .tar.gz.
func Pack(files []File) ([]byte, error) {
	var packed bytes.Buffer
	compressed := gzip.NewWriter(&packed)
	archive := tar.NewWriter(compressed)

	for _, file := range files {
		head := tar.Header{Name: "ninepocket-support/" + file.Name, Mode: 0o600, Size: int64(len(file.Text))}
		if err := archive.WriteHeader(&head); err != nil {
			return nil, err
		}
		if _, err := archive.Write(file.Text); err != nil {
			return nil, err
		}
	}
	err := errors.Join(archive.Close(), compressed.Close())
	return packed.Bytes(), err
}
