package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/snapshot"
)

// tcgCSV is the TCGCSV source: a live tree, archive days, wide history files, or several of these
// together.
//
// The identity of a product is (category, productId) and of a set (category, groupId) (decision
// 25), written "3/42346". Wide files know no category, their refs are the product id alone.
type tcgCSV struct {
	opts           Options
	in             folder
	trees          []*tcgTree // ascending by day
	duplicateTrees []*tcgTree // trees of days that trees has already
	catalog        *tcgTree   // the newest tree with a catalog, nil for none

	groups      map[string]*tcgGroup // of the catalog tree by "category/groupId", nil before they were read
	listed      []*tcgGroup          // the same in the order of the files
	skippedRefs []string             // refs of code cards, in order of first sight
	skip        map[string]bool
}

// tcgTree is one set of files for one instant: a live tree, or one archive day.
type tcgTree struct {
	in        folder
	label     string // what the report puts before names: the archive's name within the input, "" for the input itself
	prefix    string // the folder within in that holds the categories, "" for the root
	dated     bool   // prefix ends in a date, as an archive day's does
	day       snapshot.Day
	newest    time.Time // of the files' times
	collected int64
	guessed   bool                 // collected is the files' time
	leaves    map[string][]tcgFile // by kind: groups, products or prices
}

// tcgFile is one file of a tree.
type tcgFile struct {
	name     string // within the folder
	category string
	group    string // "" for groups
}

func (t *tcgTree) at(name string) string { return path.Join(t.label, name) }

func (t *tcgTree) has(kind string) bool { return len(t.leaves[kind]) > 0 }

// newTCGCSV finds the trees of a folder, which lies at name on disk.
func newTCGCSV(in folder, name string, o Options) (Source, error) {
	csv := &tcgCSV{opts: o, in: in, skip: map[string]bool{}}
	if err := csv.addTrees(in, "", name); err != nil {
		return nil, err
	}

	// A directory may hold archives, one for each day, as TCGCSV publishes them.
	if _, dir := in.(*dirFolder); dir {
		for _, f := range in.files() {
			if !hasSuffix(f.name, archiveSuffixes) {
				continue
			}

			inner := filepath.Join(name, filepath.FromSlash(f.name))
			sub, err := openFolder(inner, o.limits)
			if err == nil {
				err = csv.addTrees(sub, f.name, inner)
			}
			if err != nil {
				return nil, fmt.Errorf("archive %q: %w", f.name, err)
			}
		}
	}

	if len(csv.trees) == 0 && len(historyIn(in)) == 0 {
		return nil, errors.New("no TCGCSV files in it: want tcgplayer/3/groups, 2026-04-20/3/1367/prices, " +
			"archives of these, or wide history as .csv.zst")
	}

	csv.sortTrees()
	return csv, nil
}

// sortTrees sorts the trees, keeps one for each day, and picks the newest, whose catalog counts.
func (s *tcgCSV) sortTrees() {
	// The live tree comes first on its day, because it is the used one.
	live := func(t *tcgTree) int { return min(1, len(t.leaves["groups"])) }
	slices.SortStableFunc(s.trees, func(a, b *tcgTree) int {
		return cmp.Or(cmp.Compare(a.day, b.day), cmp.Compare(live(b), live(a)))
	})

	// A day packed twice, as .tar.zst and as .7z, is one day; a live tree goes before an archive
	// day.
	trees := s.trees[:0]
	for _, t := range s.trees {
		if n := len(trees); n > 0 && trees[n-1].day == t.day {
			s.duplicateTrees = append(s.duplicateTrees, t)
			continue
		}
		trees = append(trees, t)
		if t.has("groups") || t.has("products") {
			s.catalog = t
		}
	}

	s.trees = trees
}

// parseTCGPath reads a path as one of TCGCSV's: [prefix/]{category}/groups or
// [prefix/]{category}/{groupId}/{products,prices}.
func parseTCGPath(name string) (prefix, kind string, leaf tcgFile, ok bool) {
	parts := strings.Split(name, "/")
	n := len(parts)
	switch kind = parts[n-1]; {
	case kind == "groups" && n >= 2:
		leaf = tcgFile{name: name, category: parts[n-2]}
		parts = parts[:n-2]
	case (kind == "products" || kind == "prices") && n >= 3:
		leaf = tcgFile{name: name, category: parts[n-3], group: parts[n-2]}
		parts = parts[:n-3]
	default:
		return "", "", leaf, false
	}

	// TCGplayer has many more categories; they are passed over.
	_, number := wholeNumber([]byte(leaf.group))
	if gameOfCategory(leaf.category) == "" || leaf.group != "" && !number {
		return "", "", leaf, false
	}
	return strings.Join(parts, "/"), kind, leaf, true
}

// gameOfCategory is the game of a category, "" for a category of none.
func gameOfCategory(id string) string {
	game, _ := snapshot.GameByCategory(id)

	return game.Slug
}

// addTrees sorts the files of a folder into trees and finds out when each was collected.
func (s *tcgCSV) addTrees(in folder, label, diskPath string) error {
	stamps, err := readStamps(in, diskPath)
	if err != nil {
		return err
	}

	// One archive may have many days, each below its own prefix.
	trees := map[string]*tcgTree{}
	first := len(s.trees)
	for _, f := range in.files() {
		prefix, kind, leaf, ok := parseTCGPath(f.name)
		if !ok {
			continue
		}

		t := trees[prefix]
		if t == nil {
			t = &tcgTree{in: in, label: label, prefix: prefix, leaves: map[string][]tcgFile{}}
			trees[prefix] = t
			s.trees = append(s.trees, t)
		}

		t.leaves[kind] = append(t.leaves[kind], leaf)
		if f.mod.After(t.newest) {
			t.newest = f.mod
		}
	}

	for _, t := range s.trees[first:] {
		// An archive day is a folder with the day's name.
		base := path.Base(t.prefix)
		if t.prefix == "" {
			base = filepath.Base(diskPath)
		}

		t.day, t.dated = parseDay(base)
		if err := s.dateTree(t, stamps); err != nil {
			return err
		}
	}

	return nil
}

// lastUpdated is the file with the time of TCGCSV's build.
const lastUpdated = "last-updated.txt"

// dateTree decides when a tree was collected (decision 18): its last-updated.txt, else the archive
// day at 20:00Z, else --collected-at, else the newest file time.
func (s *tcgCSV) dateTree(t *tcgTree, stamps map[string]string) error {
	// TCGCSV puts the file next to the folder tcgplayer; copies of the tree have it inside.
	stamp, ok := stamps[path.Join(t.prefix, lastUpdated)]
	if !ok && !t.dated && path.Base(t.prefix) == "tcgplayer" {
		stamp, ok = stamps[path.Join(path.Dir(t.prefix), lastUpdated)]
	}

	switch {
	case ok:
		at, err := parseStamp(stamp)
		if err != nil {
			return err
		}
		t.collected = at.UnixMilli()

	case t.dated:
		t.collected = t.day.Start() + 20*time.Hour.Milliseconds()
	case !s.opts.CollectedAt.IsZero():
		t.collected = s.opts.CollectedAt.UnixMilli()
	default:
		t.collected = t.newest.UnixMilli()
		t.guessed = true
	}

	if !t.dated {
		t.day = snapshot.DayOf(t.collected)
	}

	return nil
}

// readStamps reads the last-updated.txt files of a folder, by name.
func readStamps(in folder, diskPath string) (map[string]string, error) {
	stamps := map[string]string{}
	read := func(f file, r io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(r, 1<<10))
		stamps[f.name] = string(text)
		return err
	}

	// A pass over an archive that has none would be for nothing.
	is := func(name string) bool { return path.Base(name) == lastUpdated }
	if slices.ContainsFunc(in.files(), func(f file) bool { return is(f.name) }) {
		if err := in.each(context.Background(), is, read); err != nil {
			return nil, err
		}
	}

	// TCGCSV itself has the file next to the directory tcgplayer, where it stands for one within.
	_, within := stamps[lastUpdated]
	if _, dir := in.(*dirFolder); !dir || within || filepath.Base(diskPath) != "tcgplayer" {
		return stamps, nil
	}

	err := (&dirFolder{root: filepath.Dir(diskPath)}).visit(file{name: lastUpdated}, read)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}

	return stamps, err
}

// parseStamp reads TCGCSV's "2026-08-22T20:05:43+0000", whose offset has no colon, and RFC 3339.
func parseStamp(text string) (time.Time, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	for _, layout := range []string{"2006-01-02T15:04:05-0700", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}

	return time.Time{}, fmt.Errorf("cannot read %s %q: want a time such as 2026-08-22T20:05:43+0000; "+
		"correct or remove the file", lastUpdated, clip(text))
}

// Feed implements Source.
func (s *tcgCSV) Feed() Feed {
	return Feed{
		Namespace: KindTCGCSV, HasCatalog: s.catalog != nil, ProductRefs: true,
		Attribution: cmp.Or(s.opts.Attribution, "Market prices from TCGplayer by way of TCGCSV"),
		Partner:     cmp.Or(s.opts.Partner, tcgPlayer),
	}
}

// Newest implements NewestDayer.
func (s *tcgCSV) Newest() (snapshot.Day, time.Time) {
	if len(s.trees) == 0 {
		return snapshot.NoDay, time.Time{}
	}
	newest := s.trees[len(s.trees)-1]
	if newest.guessed {
		return newest.day, newest.newest
	}
	return newest.day, time.Time{}
}

// tcgPlayer is the namespace of TCGCSV's product ids as identifiers: they are TCGplayer's.
const tcgPlayer = "tcgplayer"

// Skipped implements Skipper.
func (s *tcgCSV) Skipped() []string { return s.skippedRefs }

// asOf is the observation time of a tree's rows: the operator's assertion for the feed, else not
// known (decision 18). An assertion later than an archive day cannot have been meant for it.
func (s *tcgCSV) asOf(t *tcgTree) int64 {
	if s.opts.AsCollected {
		return t.collected
	}
	at := msOf(s.opts.AsOf)
	if t.dated && at > t.collected {
		return snapshot.NoTime
	}
	return at
}

// layout is TCGCSV's wide history.
func (s *tcgCSV) layout() wideLayout {
	return wideLayout{
		key: "productId", variant: "subTypeName", condition: s.opts.DefaultCondition,
		refOK: func(ref string) bool {
			_, ok := wholeNumber([]byte(ref))
			return ok
		},
	}
}
