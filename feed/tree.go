package feed

import (
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

// treeFile is what a tree says of itself, next to last-updated.txt.
const treeFile = "pull.json"

// tree is the content of a tree's file of that name. The zero tree is none.
type tree struct {
	Stamp      string    `json:"stamp"` // the feed's last-updated.txt
	Categories []string  `json:"categories"`
	Groups     int       `json:"groups"`
	Missing    []Missing `json:"missing"`
}

// readTree reads what a tree says of itself; one that says nothing is none.
func readTree(dir string) (t tree) {
	b, err := os.ReadFile(filepath.Join(dir, treeFile))
	if err == nil && json.Unmarshal(b, &t) != nil {
		return tree{}
	}
	return t
}

// lock keeps a second pull out of a directory, which is made if need be.
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

// startPartial makes partial the beginning of a tree of this stamp. What an earlier pull has fetched of the
// same stamp stays, also when that pull ended with groups missing.
func (p *pull) startPartial(stamp string, now tree) error {
	there, err := os.ReadFile(filepath.Join(p.partial(), lastUpdated))
	if err == nil && string(there) == stamp {
		return nil
	}

	if err := p.disk.Remove(p.partial()); err != nil {
		return err
	}
	if now.Stamp == stamp {
		// A tree is never changed: what is added goes into a copy of it.
		if err := p.linkTree(p.current(), p.partial()); err != nil {
			return err
		}
	}
	return p.write(filepath.Join(p.partial(), lastUpdated), []byte(stamp))
}

// linkTree makes a copy of a tree whose files are the same ones, but for what says how whole it is
// and for products that were taken from another tree.
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

// groupFile is where a file of a group is in a tree.
func groupFile(category, group, file string) string {
	return filepath.Join("tcgplayer", category, group, file)
}

// write writes a file that is there whole or not at all, and on disk.
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

// files fetches all files that partial does not have yet.
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
		// A feed that is half there is not asked for the other half.
		if n := groupsOf(pulled.Missing); n > 1 && float64(n) > maxMissingShare*float64(len(groups)) {
			last := pulled.Missing[len(pulled.Missing)-1]
			return pulled, fmt.Errorf("%w: %d of the first %d groups are missing, of %d in all; %s of %s/%s (%s): %s",
				ErrIncomplete, n, i+1, len(groups), last.File, last.Category, last.Group, last.Name, last.Why)
		}
	}

	p.progress("pulling groups", len(groups), len(groups))
	return pulled, nil
}

// dropOthers removes what an earlier pull has begun of games that are no longer wanted: it may be
// half of them.
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

// groupsOf is how many groups lack a file.
func groupsOf(missing []Missing) int {
	seen := map[string]bool{}
	for _, m := range missing {
		seen[m.Category+"/"+m.Group] = true
	}
	return len(seen)
}

// groups fetches the listing of every category. Without one there is no tree.
func (p *pull) groups(ctx context.Context) (all []group, err error) {
	for _, category := range p.categories() {
		name := filepath.Join("tcgplayer", category, "groups")
		if err := p.fetch(ctx, name); err != nil {
			return nil,
				errors.Join(fmt.Errorf("%w: the groups of category %s are missing: %w", ErrBadResponse, category, err),
					ctx.Err())
		}

		var listed struct {
			Results []group `json:"results"`
		}
		body, err := os.ReadFile(filepath.Join(p.partial(), name))
		if err == nil {
			err = json.Unmarshal(body, &listed)
		}
		if err == nil && len(listed.Results) == 0 {
			err = errors.New("it lists none")
		}
		if err != nil {
			return nil, fmt.Errorf("%w: the groups of category %s: %w", ErrBadResponse, category, err)
		}

		for _, g := range listed.Results {
			// A path is made of it.
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

// group fetches the two files of a group and says what could not be had. A group without products is
// none, so that those of the tree before stand in: they change rarely.
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

// resolved is where a link leads, or what was given.
func resolved(link string) string {
	if to, err := filepath.EvalSymlinks(link); err == nil {
		return to
	}
	return link
}

// fatalError is the error of what is no error of a file: the pull was ended, the feed wants to be
// left alone, or this machine cannot keep what it fetches.
func fatalError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, ErrRateLimited) {
		return err
	}
	_, path := errors.AsType[*fs.PathError](err)
	_, link := errors.AsType[*os.LinkError](err)
	if path || link {
		return err
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
		// The folder is made for what may be linked into it.
		_ = disk.MkdirAll(p.disk, filepath.Dir(to), 0o755)
		return err
	}
	return p.write(to, body)
}

// finish makes what was pulled the current tree: its day is archived, then one rename moves current.
func (p *pull) finish(pulled tree, updated time.Time) error {
	text, err := json.MarshalIndent(pulled, "", "  ")
	if err != nil {
		return err
	}
	if err := p.write(filepath.Join(p.partial(), treeFile), append(text, '\n')); err != nil {
		return err
	}
	if err := p.archiveDay(p.partial(), pulled); err != nil {
		return err
	}
	if err := p.syncFolders(p.partial()); err != nil {
		return err
	}

	if err := disk.MkdirAll(p.disk, p.trees(), 0o755); err != nil {
		return err
	}
	name := p.unusedName(updated.Format("2006-01-02T150405Z"))
	if err := p.disk.Rename(p.partial(), filepath.Join(p.trees(), name)); err != nil {
		return err
	}
	if err := errors.Join(p.disk.SyncDir(p.trees()), p.disk.SyncDir(p.Into)); err != nil {
		return err
	}

	// Readers see the old tree or the new one.
	staged := p.current() + ".next"
	err = p.disk.Remove(staged)
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

// syncFolders makes the names of a tree durable: its files are, and a tree that lost some to a power
// cut would pass for a whole one.
func (p *pull) syncFolders(root string) error {
	return filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return p.disk.SyncDir(name)
	})
}

// unusedName is a name in trees that nothing has: a tree may be completed after it was current.
func (p *pull) unusedName(name string) string {
	free := name
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(p.trees(), free)); err != nil {
			return free
		}
		free = fmt.Sprintf("%s-%d", name, n)
	}
}

// dropTrees removes all trees but the current one and the newest before it.
func (p *pull) dropTrees(current string) error {
	entries, err := os.ReadDir(p.trees())
	if err != nil {
		return err
	}

	var old []string
	for _, entry := range entries {
		if entry.Name() != current {
			old = append(old, entry.Name())
		}
	}
	slices.Sort(old)
	for _, name := range old[:max(0, len(old)-maxTrees+1)] {
		err = errors.Join(err, p.disk.Remove(filepath.Join(p.trees(), name)))
	}
	return err
}
