package operate

import (
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
	if _, err := os.Stat(from); err != nil {
		return nil //nolint:nilerr // whoever uses it says so
	}
	return filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(name, from)
		isSnapshot := entry.IsDir() && filepath.Dir(name) == filepath.Join(from, "snapshots")
		switch {
		case isSnapshot:
			if err := os.Symlink(name, target); err != nil {
				return err
			}
			return fs.SkipDir
		case strings.HasSuffix(name, ".tar.zst"):
			return os.Symlink(name, target)
		case entry.IsDir():
			return os.MkdirAll(target, 0o700)
		case entry.Type() == fs.ModeSymlink:
			leads, err := os.Readlink(name)
			if err != nil {
				return err
			}
			return os.Symlink(leads, target)
		}

		data, err := os.ReadFile(name) //nolint:gosec // the operator's own folder
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o600); err != nil { //nolint:gosec // of a folder of our own
			return err
		}
		// Days of trees are taken from it.
		return os.Chtimes(target, info.ModTime(), info.ModTime())
	})
}
