package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/internal/disk"
)

// treeFile is the file with a feed directory's description, next to last-updated.txt.
const treeFile = "pull.json"

// tree is the content of a feed directory's description. The zero tree has no groups.
type tree struct {
	Stamp      string    `json:"stamp"` // the feed's last-updated.txt
	Categories []string  `json:"categories"`
	Groups     int       `json:"groups"`
	Missing    []Missing `json:"missing"`
}

// readTree reads a feed directory's description; without one it returns the zero tree.
func readTree(dir string) (t tree) {
	b, err := os.ReadFile(filepath.Join(dir, treeFile))
	if err == nil && json.Unmarshal(b, &t) != nil {
		return tree{}
	}
	return t
}

// lock keeps a second pull out of a directory, and creates the directory if necessary.
func lock(dir string) (*disk.Lock, error) {
	if err := disk.MkdirAll(disk.OS, dir, 0o755); err != nil {
		return nil, err
	}
	file, err := disk.TakeLock(filepath.Join(dir, "LOCK"), 0o644, 0)
	if errors.Is(err, disk.ErrLocked) {
		err = ErrBusy
	}
	return file, err
}

// startPartial prepares partial for a feed directory of this stamp, "" for none. Files that an
// earlier pull fetched for that stamp stay, also if that pull ended with missing groups.
func (p *pull) startPartial(stamp string, same bool) error {
	there, err := os.ReadFile(filepath.Join(p.partial(), lastUpdated))
	if err == nil && string(there) == stamp {
		return nil
	}

	if err := p.disk.Remove(p.partial()); err != nil {
		return err
	}
	if stamp == "" {
		return nil
	}
	if same {
		// A feed directory is never changed: additions go into a copy.
		if err := p.linkTree(p.current(), p.partial()); err != nil {
			return err
		}
	}
	return p.write(filepath.Join(p.partial(), lastUpdated), []byte(stamp))
}

// linkTree copies a feed directory by hard links. It omits the description and the products
// that were taken from another feed directory.
func (p *pull) linkTree(from, to string) error {
	skip := map[string]bool{treeFile: true, lastUpdated: true}
	for _, m := range readTree(from).Missing {
		skip[groupFile(m.Category, m.Group, m.File)] = true
	}

	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil || skip[rel] {
			return err
		}
		name := filepath.Join(to, rel)
		if err := disk.MkdirAll(p.disk, filepath.Dir(name), 0o755); err != nil {
			return err
		}
		return p.disk.Link(path, name, false)
	})
}

// groupFile is the path of a group's file in a feed directory.
func groupFile(category, group, file string) string {
	return filepath.Join("tcgplayer", category, group, file)
}

// write writes a file durably, whole or not at all.
func (p *pull) write(name string, data []byte) error {
	if err := disk.MkdirAll(p.disk, filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return disk.Replace(p.disk, name+".part", name, data, 0o644)
}

// group is an element of a groups file.
type group struct {
	ID   json.Number `json:"groupId"`
	Name string      `json:"name"`

	category string
}

func (g *group) id() string { return g.ID.String() }

// files fetches all files that partial lacks.
func (p *pull) files(ctx context.Context, stamp string) (tree, error) {
	pulled := tree{Stamp: stamp, Categories: p.categories(), Missing: []Missing{}}
	if err := p.dropOthers(pulled.Categories); err != nil {
		return pulled, err
	}
	groups, err := p.groups(ctx)
	if err != nil {
		return pulled, err
	}
	pulled.Groups = len(groups)
	p.result.Groups = len(groups)

	for i := range groups {
		g := &groups[i]
		p.progress("pulling groups", i, len(groups))
		lost, err := p.group(ctx, g)
		if err != nil {
			return pulled, err
		}

		pulled.Missing = append(pulled.Missing, lost...)
		// If half of the feed is missing, the other half is not requested.
		if n := groupsOf(pulled.Missing); n > 1 && float64(n) > maxMissingShare*float64(len(groups)) {
			last := pulled.Missing[len(pulled.Missing)-1]
			return pulled, fmt.Errorf("%w: %d of the first %d groups are missing, of %d in all; %s of %s/%s (%s): %s",
				ErrIncomplete, n, i+1, len(groups), last.File, last.Category, last.Group, last.Name, last.Why)
		}
	}

	p.progress("pulling groups", len(groups), len(groups))
	text, _ := json.MarshalIndent(pulled, "", "  ") // it cannot fail
	return pulled, p.write(filepath.Join(p.partial(), treeFile), append(text, '\n'))
}

// dropOthers removes files of games that are no longer wanted: an earlier pull may have fetched
// half of a game.
func (p *pull) dropOthers(categories []string) error {
	entries, err := os.ReadDir(filepath.Join(p.partial(), "tcgplayer"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if !slices.Contains(categories, entry.Name()) {
			err = errors.Join(err, p.disk.Remove(filepath.Join(p.partial(), "tcgplayer", entry.Name())))
		}
	}
	return err
}

// groupsOf counts the groups with a missing file.
func groupsOf(missing []Missing) int {
	seen := map[string]bool{}
	for _, m := range missing {
		seen[m.Category+"/"+m.Group] = true
	}
	return len(seen)
}

// groups fetches the listing of every category. A feed directory needs all of them.
func (p *pull) groups(ctx context.Context) (all []group, err error) {
	for _, category := range p.categories() {
		name := filepath.Join("tcgplayer", category, "groups")
		if err := p.fetch(ctx, name); err != nil {
			return nil,
				errors.Join(fmt.Errorf("%w: the groups of category %s are missing: %w", ErrBadResponse, category, err),
					ctx.Err())
		}

		listed, err := readResults[group](filepath.Join(p.partial(), name))
		if err == nil && len(listed) == 0 {
			err = errors.New("it lists none")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the groups of category %s: %w", ErrBadResponse, category, err)
		}

		for _, g := range listed {
			// The number becomes part of a path.
			if g.id() == "" || strings.Trim(g.id(), "0123456789") != "" {
				return nil, fmt.Errorf("%w: the groups of category %s: %.40q is no number of a group", ErrBadResponse,
					category, g.id())
			}
			g.category = category
			all = append(all, g)
		}
	}
	return all, nil
}

// readResults reads the elements of a file of the feed.
func readResults[T any](name string) ([]T, error) {
	var listed struct {
		Results []T `json:"results"`
	}
	body, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(body, &listed)
	}
	return listed.Results, err
}

// group fetches the two files of a group and returns those that are missing. A group needs products,
// so the previous products are used: they change rarely.
func (p *pull) group(ctx context.Context, g *group) (lost []Missing, err error) {
	for _, file := range []string{"products", "prices"} {
		name := groupFile(g.category, g.id(), file)
		err := p.fetch(ctx, name)
		if err == nil {
			continue
		}
		if stop := fatalError(ctx, err); stop != nil {
			return nil, stop
		}

		missing := Missing{Category: g.category, Group: g.id(), Name: g.Name, File: file, Why: err.Error()}
		if file == "products" {
			there := filepath.Join(resolved(p.current()), name)
			missing.UsedPrevious = p.disk.Link(there, filepath.Join(p.partial(), name), false) == nil
		}
		lost = append(lost, missing)
	}
	return lost, nil
}

// resolved is the target of a link, or the given path.
func resolved(link string) string {
	if to, err := filepath.EvalSymlinks(link); err == nil {
		return to
	}
	return link
}

// fatalError returns an error that concerns more than one file: the pull was ended, the feed asks
// for no more requests, or this machine cannot store files.
func fatalError(ctx context.Context, err error) error {
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	if ctx.Err() != nil || path || link || errors.Is(err, ErrRateLimited) {
		return cmp.Or(ctx.Err(), err)
	}
	return nil
}

// fetch brings one file into partial, unless it is there.
func (p *pull) fetch(ctx context.Context, name string) error {
	to := filepath.Join(p.partial(), name)
	if _, err := os.Stat(to); err == nil {
		p.result.Resumed++
		return nil
	}

	body, err := p.get(ctx, p.url()+"/"+filepath.ToSlash(name), checkResponse)
	if err != nil {
		// The folder must exist for files that are linked into it.
		_ = disk.MkdirAll(p.disk, filepath.Dir(to), 0o755)
		return err
	}
	return p.write(to, body)
}

// finish makes a folder the current feed directory: it archives the day, then moves current with one rename.
func (p *pull) finish(from string) error {
	if err := p.archiveDay(from); err != nil {
		return err
	}
	// Once its time is known, a feed directory that was set aside is not looked for again.
	if err := p.write(filepath.Join(from, lastUpdated), []byte(p.stamped)); err != nil {
		return err
	}
	name := p.unusedName(p.result.Updated.Format(treeTime))
	if err := p.move(from, filepath.Join(p.trees(), name)); err != nil {
		return err
	}

	// Readers see either the old feed directory or the new.
	staged := p.current() + ".next"
	err := p.disk.Remove(staged)
	if err == nil {
		err = p.disk.Link(filepath.Join("trees", name), staged, true)
	}
	if err == nil {
		err = p.disk.Rename(staged, p.current())
	}
	if err != nil {
		return err
	}
	p.result.Tree = p.current()
	return errors.Join(p.disk.SyncDir(p.Into), p.dropTrees(name))
}

// move renames a feed directory or a day's file into another folder of the feed, durably.
func (p *pull) move(from, to string) error {
	// The files already are durable. A feed directory that lost names in a power cut would seem complete.
	err := errors.Join(disk.SyncFolders(p.disk, from), disk.MkdirAll(p.disk, filepath.Dir(to), 0o755))
	if err == nil {
		err = p.disk.Rename(from, to)
	}
	if err != nil {
		return err
	}
	return errors.Join(p.disk.SyncDir(filepath.Dir(to)), p.disk.SyncDir(filepath.Dir(from)))
}

// builtAt is the time of a feed directory's build, zero if it gives none or an impossible time.
func (p *pull) builtAt(tree string) time.Time {
	text, _ := os.ReadFile(filepath.Join(tree, lastUpdated))
	at, err := parseStamp(string(text))
	if err != nil || at.After(p.Now().Add(maxAhead)) {
		return time.Time{}
	}
	return at
}

// unusedName is an unused name in the folder trees: a feed directory may be completed after it was current.
func (p *pull) unusedName(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(p.trees(), free)); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// dropTrees removes all feed directories but the current one and the newest others.
func (p *pull) dropTrees(current string) error {
	entries, err := os.ReadDir(p.trees())
	if err != nil {
		return err
	}

	// Names ascend by time.
	old := slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() == current })
	for _, entry := range old[:max(0, len(old)-maxTrees+1)] {
		err = errors.Join(err, p.disk.Remove(filepath.Join(p.trees(), entry.Name())))
	}
	return err
}

// maxClockError is how long after its pull the operator's time of a feed directory may be: clocks differ.
const maxClockError = 5 * time.Minute

// SetAside takes the current feed directory out of use. The next pull fetches all files again even if
// the feed gives an equal time; until then nothing is current.
func SetAside(dir string) (moved string, err error) {
	lock, err := lock(dir)
	if err != nil {
		return "", err
	}
	defer lock.Unlock() //nolint:errcheck // it ends with the process at the latest

	p := &pull{Options: Options{Into: dir, disk: disk.OS}}
	tree, err := filepath.EvalSymlinks(p.current())
	if err != nil {
		return "", err
	}
	// The partial download may be a copy of it, and an earlier feed directory of its name may be
	// there.
	moved = filepath.Join(p.aside(), filepath.Base(tree))
	err = errors.Join(p.disk.Remove(p.partial()), p.disk.Remove(moved))
	return moved, errors.Join(err, p.move(tree, moved), p.disk.Remove(p.current()))
}

// DiscardDay takes the archived day, such as 2026-08-22, out of use; moved is "" if there is none. A
// pull archives the day again only after a rebuild of the feed.
func DiscardDay(dir, day string) (moved string, err error) {
	p := &pull{Options: Options{Into: dir, disk: disk.OS}}
	for _, file := range DayFiles(filepath.Join(dir, "days"), day) {
		to := filepath.Join(p.aside(), filepath.Base(file))
		switch err := p.move(file, to); {
		case err == nil:
			moved = cmp.Or(moved, to)
		case !errors.Is(err, fs.ErrNotExist):
			return moved, err
		}
	}
	return moved, p.disk.Remove(refsFile(filepath.Join(dir, "days"), day))
}

// setAside takes a feed directory of unknown day out of the pull, until an operator gives the day.
func (p *pull) setAside() error {
	to := filepath.Join(p.aside(), p.Now().UTC().Format(treeTime))
	if err := errors.Join(p.disk.Remove(to), p.move(p.partial(), to)); err != nil {
		return err
	}
	return fmt.Errorf("%w: %s: %w; the feed directory is set aside in %s", ErrUndated, lastUpdated, p.undated, to)
}

// takeUndated accepts the first feed directory that was set aside within a day after the operator's time.
func (p *pull) takeUndated() (took bool, err error) {
	entries, _ := os.ReadDir(p.aside())
	for _, entry := range entries {
		from := filepath.Join(p.aside(), entry.Name())
		at, err := time.Parse(treeTime, entry.Name())
		after := at.Sub(p.CollectedAt)
		if err != nil || after < -maxClockError || after > maxAhead || !p.builtAt(from).IsZero() {
			continue
		}

		p.warn("the feed directory that was set aside in %s gets the time %s", from, p.CollectedAt.Format(time.RFC3339))
		t := readTree(from)
		p.setTime(p.CollectedAt.UTC(), p.CollectedAt.UTC().Format(stampTime))
		p.result.New = true
		p.result.Groups = t.Groups
		p.result.Missing = t.Missing
		if !p.builtAt(p.current()).After(p.CollectedAt) {
			return true, p.finish(from)
		}

		// The current feed directory is of a later day and stays; this one only fills its day.
		p.result.Tree = p.current()
		err = p.archiveDay(from)
		if err == nil {
			err = p.disk.Remove(from)
		}
		return true, err
	}
	return false, nil
}
