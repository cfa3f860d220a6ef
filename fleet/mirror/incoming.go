package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"ninepocket/snapshot"
)

const (
	// maxTries is how many tries of a section may fail before the whole pull does.
	maxTries = 3
	// minProgress is how many bytes make a try no failure: a connection that breaks now and then is
	// slow, and not broken.
	minProgress = 64 << 10
)

// ErrChecksum reports a complete section with another SHA-256 than the published one.
var ErrChecksum = errors.New("the store gave other bytes than were published")

// incomingDir is the folder of partly downloaded sections. After a crash, its files are hashed and only
// the rest is downloaded.
func (c *Follower) incomingDir() string { return filepath.Join(c.dir.Root(), "incoming") }

// incomingPath is the file of a section in it.
func (c *Follower) incomingPath(section *snapshot.Section) string {
	return filepath.Join(c.incomingDir(), section.SHA256)
}

// open opens a fetched section.
func (c *Follower) open(section snapshot.Section) (io.ReadCloser, error) {
	return os.Open(c.incomingPath(&section))
}

// fetchSections copies the sections of a snapshot to incomingDir: from another snapshot of the directory
// store if one has it, else from the bucket.
func (c *Follower) fetchSections(ctx context.Context, m *snapshot.Manifest) error {
	if err := os.MkdirAll(c.incomingDir(), 0o755); err != nil { //nolint:gosec // published data is public
		return fmt.Errorf("cannot keep what is pulled: %w", err)
	}
	known := c.localSections()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, section := range distinctSections(m) {
		group.Go(func() error { return c.fetchSection(ctx, &section, known[section.SHA256]) })
	}
	return group.Wait()
}

// distinctSections returns the served sections of a snapshot, without repeated contents.
func distinctSections(m *snapshot.Manifest) []snapshot.Section {
	seen := map[string]bool{}
	var all []snapshot.Section
	for _, section := range m.ServingSections() {
		if !seen[section.SHA256] {
			seen[section.SHA256] = true
			all = append(all, section)
		}
	}
	return all
}

// localSections returns the files of sections that the directory store has, by SHA-256.
func (c *Follower) localSections() map[string]string {
	// On an error everything is downloaded.
	all, _ := c.dir.List()
	files := map[string]string{}
	for _, m := range all {
		for _, section := range m.ServingSections() {
			files[section.SHA256] = filepath.Join(c.dir.Path(m.ID), section.File)
		}
	}
	return files
}

// fetchSection copies one section to incomingDir. localFile is a file that has it, "" if there is none.
func (c *Follower) fetchSection(ctx context.Context, section *snapshot.Section, localFile string) (err error) {
	if localFile != "" && c.copyLocal(section, localFile) {
		return nil
	}

	for failed := 0; failed < maxTries; {
		var received int64
		received, err = c.download(ctx, section)
		if err == nil || ctx.Err() != nil || errors.Is(err, errNotFound) {
			return err
		}
		if received < minProgress || errors.Is(err, ErrChecksum) {
			failed++
		}
	}
	return err
}

// copyLocal copies a section from a file of another snapshot. It returns false if that is damaged.
func (c *Follower) copyLocal(section *snapshot.Section, localFile string) bool {
	from, err := os.Open(localFile)
	if err != nil {
		return false
	}
	defer from.Close() //nolint:errcheck // only read

	b, err := io.ReadAll(io.LimitReader(from, section.Bytes+1))
	if err != nil || fmt.Sprintf("%x", sha256.Sum256(b)) != section.SHA256 {
		return false
	}
	return os.WriteFile(c.incomingPath(section), b, 0o644) == nil //nolint:gosec // published data is public
}

// download downloads the missing rest of a section, and returns how many bytes it received.
func (c *Follower) download(ctx context.Context, section *snapshot.Section) (received int64, err error) {
	path := c.incomingPath(section)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // published data is public
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	sum := sha256.New()
	have, err := io.Copy(sum, file)
	if err == nil && have > section.Bytes {
		// The file cannot be a part of this section.
		have = 0
		err = startOver(file, sum)
	}
	if err == nil && have < section.Bytes {
		received, err = c.appendRest(ctx, file, sum, section, have)
		have += received
	}
	if err != nil {
		return received, err
	}

	if have != section.Bytes || hex.EncodeToString(sum.Sum(nil)) != section.SHA256 {
		err = fmt.Errorf("section %q: %w", section.Name, ErrChecksum)
		return received, errors.Join(err, startOver(file, sum))
	}
	return received, nil
}

// startOver empties a file and resets its hash.
func startOver(file *os.File, sum hash.Hash) error {
	sum.Reset()
	_, err := file.Seek(0, io.SeekStart)
	return errors.Join(err, file.Truncate(0))
}

// appendRest downloads a section from the offset have on. An object's name follows from
// its bytes, so the object is the same as before; the hash at the end proves it.
func (c *Follower) appendRest(
	ctx context.Context, file io.Writer, sum hash.Hash, section *snapshot.Section, have int64,
) (received int64, err error) {
	body, err := c.bucket.openFrom(ctx, blobPrefix+section.SHA256, have)
	if err != nil {
		return 0, err
	}
	defer body.Close() //nolint:errcheck // only read

	received, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, section.Bytes-have))
	c.update(func(s *Stats) { s.Downloaded += received })
	if err == nil && have+received < section.Bytes {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		err = fmt.Errorf("section %q broke off after %d of %d bytes: %w",
			section.Name, have+received, section.Bytes, err)
	}
	return received, err
}
