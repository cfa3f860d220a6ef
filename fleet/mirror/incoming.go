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
	// maxTries is how often a section is asked for before the whole pull waits.
	maxTries = 3
	// minProgress is how many bytes a try must bring to be none of these: a line that breaks now
	// and then is slow, and not broken.
	minProgress = 64 << 10
)

// ErrChecksum means: a section came whole, and with other bytes than were published.
var ErrChecksum = errors.New("the store gave other bytes than were published")

// incoming is the folder with what came of sections so far. It outlives a crash: what is there is
// hashed, and the rest is asked for.
func (c *Follower) incoming() string { return filepath.Join(c.dir.Root(), "incoming") }

func (c *Follower) path(section *snapshot.Section) string {
	return filepath.Join(c.incoming(), section.SHA256)
}

// open opens a section that was fetched.
func (c *Follower) open(section snapshot.Section) (io.ReadCloser, error) {
	return os.Open(c.path(&section))
}

// fetch brings the sections of a snapshot here, each from another snapshot of the directory store
// where one has it.
func (c *Follower) fetch(ctx context.Context, m *snapshot.Manifest) error {
	if err := os.MkdirAll(c.incoming(), 0o755); err != nil { //nolint:gosec // published data is public
		return fmt.Errorf("cannot keep what is pulled: %w", err)
	}
	known := c.localSections()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxParallel)
	for _, section := range distinct(m) {
		group.Go(func() error { return c.fetchSection(ctx, &section, known[section.SHA256]) })
	}
	return group.Wait()
}

// distinct are the served sections of a snapshot, each content once.
func distinct(m *snapshot.Manifest) []snapshot.Section {
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

// localSections are the files of sections that the directory store has, by their strong checksums.
func (c *Follower) localSections() map[string]string {
	// Without any, everything is downloaded.
	all, _ := c.dir.List()
	files := map[string]string{}
	for _, m := range all {
		for _, section := range m.ServingSections() {
			files[section.SHA256] = filepath.Join(c.dir.Path(m.ID), section.File)
		}
	}
	return files
}

// fetchSection brings one section here.
func (c *Follower) fetchSection(ctx context.Context, section *snapshot.Section, here string) (err error) {
	if here != "" && c.copyLocal(section, here) {
		return nil
	}

	for failed := 0; failed < maxTries; {
		var came int64
		came, err = c.download(ctx, section)
		if err == nil || ctx.Err() != nil || errors.Is(err, errNotFound) {
			return err
		}
		if came < minProgress || errors.Is(err, ErrChecksum) {
			failed++
		}
	}
	return err
}

// copyLocal copies a section that another snapshot has. Where that one is damaged, it is
// downloaded.
func (c *Follower) copyLocal(section *snapshot.Section, here string) bool {
	from, err := os.Open(here)
	if err != nil {
		return false
	}
	defer from.Close() //nolint:errcheck // only read

	b, err := io.ReadAll(io.LimitReader(from, section.Bytes+1))
	sum := sha256.Sum256(b)
	if err != nil || hex.EncodeToString(sum[:]) != section.SHA256 {
		return false
	}
	return os.WriteFile(c.path(section), b, 0o644) == nil //nolint:gosec // published data is public
}

// download asks for what is missing of a section, and returns how many bytes came.
func (c *Follower) download(ctx context.Context, section *snapshot.Section) (came int64, err error) {
	file, err := os.OpenFile(c.path(section), os.O_CREATE|os.O_RDWR, 0o644) //nolint:gosec // published data is public
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()

	sum := sha256.New()
	have, err := io.Copy(sum, file)
	if err == nil && have > section.Bytes {
		// It is of no section of this name.
		have = 0
		err = startOver(file, sum)
	}
	if err == nil && have < section.Bytes {
		came, err = c.appendRest(ctx, file, sum, section, have)
		have += came
	}
	if err != nil {
		return came, err
	}

	if have != section.Bytes || hex.EncodeToString(sum.Sum(nil)) != section.SHA256 {
		err = fmt.Errorf("section %q: %w", section.Name, ErrChecksum)
		return came, errors.Join(err, startOver(file, sum))
	}
	return came, nil
}

// startOver empties a file.
func startOver(file *os.File, sum hash.Hash) error {
	sum.Reset()
	_, err := file.Seek(0, io.SeekStart)
	return errors.Join(err, file.Truncate(0))
}

// appendRest downloads what follows the first bytes of a section. The object's name follows from
// its bytes, so that it is the same one as before, and the hash at the end says whether it was.
func (c *Follower) appendRest(
	ctx context.Context, file io.Writer, sum hash.Hash, section *snapshot.Section, have int64,
) (came int64, err error) {
	body, err := c.bucket.openFrom(ctx, blobs+section.SHA256, have)
	if err != nil {
		return 0, err
	}
	defer body.Close() //nolint:errcheck // only read

	came, err = io.Copy(io.MultiWriter(file, sum), io.LimitReader(body, section.Bytes-have))
	c.update(func(s *Stats) { s.Downloaded += came })
	if err == nil && have+came < section.Bytes {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return came, fmt.Errorf("section %q broke off after %d of %d bytes: %w", section.Name, have+came,
			section.Bytes, err)
	}
	return came, nil
}
