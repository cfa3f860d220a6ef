package operate

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Shadow copies a store or the folder of a feed for work of which nothing is to stay. Snapshots and
// archived days are links: they are replaced and removed, and never changed. A folder that is not there
// has no copy.
func Shadow(from, to string) error {
	from, err := filepath.Abs(from)
	if err != nil {
		return err
	}

	err = filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		// Links stay links, such as that to the newest download.
		target := to + strings.TrimPrefix(name, from)
		leads, noLink := os.Readlink(name)
		switch {
		case err != nil:
			return err
		case noLink == nil:
			return os.Symlink(leads, target) //nolint:gosec // of a folder of our own
		case entry.IsDir() && filepath.Base(filepath.Dir(name)) == "snapshots":
			return cmp.Or(os.Symlink(name, target), fs.SkipDir) //nolint:gosec // of a folder of our own
		case entry.IsDir():
			return os.MkdirAll(target, 0o700) //nolint:gosec // of a folder of our own
		case strings.HasSuffix(name, ".tar.zst"):
			return os.Symlink(name, target) //nolint:gosec // of a folder of our own
		}

		data, err := os.ReadFile(name) //nolint:gosec // the operator's own folder
		info, statErr := entry.Info()
		if err != nil || statErr != nil {
			return errors.Join(err, statErr)
		}
		// Days of trees are taken from the times of their files.
		err = os.WriteFile(target, data, 0o600)                     //nolint:gosec // of a folder of our own
		timed := os.Chtimes(target, info.ModTime(), info.ModTime()) //nolint:gosec // as above
		return errors.Join(err, timed)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
