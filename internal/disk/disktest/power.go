package disktest

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// model is the content of a folder on disk. A power cut may lose everything that was not synced. In
// a file, this is every sector that changed since its last sync. In a folder, this is each name
// that was made, replaced or removed since its last sync.
type model struct {
	folder string // the folder
	root   *node
}

type node struct {
	// Of a folder:
	durable map[string]*node
	pending []edit
	// Of a file:
	data, synced []byte
	raw          string // path of a file with writes that are not seen: all of it is on disk
	// Of a symbolic link:
	link string
}

// edit is a change of a folder's names; a nil node removes one.
type edit struct {
	name string
	*node
}

func modelOf(folder string) *model {
	var load func(path string) *node
	load = func(path string) *node {
		n := &node{durable: map[string]*node{}}
		entries, err := os.ReadDir(path)
		for _, e := range entries {
			name := filepath.Join(path, e.Name())
			below := &node{}

			switch {
			case e.IsDir():
				below = load(name)
			case e.Type()&fs.ModeSymlink != 0:
				below.link, err = os.Readlink(name)
			default:
				below.data, err = os.ReadFile(name)
				below.synced = below.data
			}
			if err != nil {
				break
			}
			n.durable[e.Name()] = below
		}
		if err != nil {
			panic(err)
		}
		return n
	}
	return &model{folder, load(folder)}
}

// live returns a folder's names as a running program sees them.
func (n *node) live() map[string]*node {
	entries := maps.Clone(n.durable)
	for _, e := range n.pending {
		apply(entries, e)
	}
	return entries
}

func apply(entries map[string]*node, e edit) {
	if e.node == nil {
		delete(entries, e.name)
		return
	}
	entries[e.name] = e.node
}

// write changes a file. The slice that a sync recorded does not change.
func (n *node) write(at int, p []byte) {
	if at == len(n.data) {
		n.data = append(n.data, p...)
		return
	}
	data := append(bytes.Clone(n.data), make([]byte, max(0, at+len(p)-len(n.data)))...)
	copy(data[at:], p)
	n.data = data
}

// find returns the node of a path; nil for a missing one, and for one outside of the folder.
func (m *model) find(path string) *node {
	rel, err := filepath.Rel(m.folder, filepath.Clean(path))
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return nil
	}

	n := m.root
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		switch {
		case part == ".":
		case n.durable == nil:
			return nil
		default:
			n = n.live()[part]
		}
		if n == nil {
			return nil
		}
	}
	return n
}

// put records a change of a name.
func (m *model) put(path string, n *node) {
	if parent := m.find(filepath.Dir(path)); parent != nil {
		parent.pending = append(parent.pending, edit{filepath.Base(path), n})
	}
}

// do records a call that was made.
func (m *model) do(call Call) {
	n := m.find(call.Path)

	switch call.Op {
	case "mkdir":
		m.put(call.Path, &node{durable: map[string]*node{}})
	case "create":
		if n == nil {
			m.put(call.Path, &node{})
		} else if info, err := os.Stat(call.Path); err == nil && info.Size() < int64(len(n.data)) {
			n.data = nil // it was emptied
		}
	case "link":
		m.put(call.To, n)
	case "symlink":
		m.put(call.To, &node{link: call.Path})
	case "rename":
		m.put(call.Path, nil)
		m.put(call.To, n)
	case "remove":
		if n != nil {
			m.put(call.Path, nil)
		}
	case "syncdir":
		if n != nil {
			n.durable = n.live()
			n.pending = nil
		}
	}
}

// sector is the unit that a disk writes completely or not at all.
const sector = 512

// afterPowerCut returns the content of a file after a power cut.
func (n *node) afterPowerCut(lose func() bool) []byte {
	switch {
	case n.raw != "":
		data, _ := os.ReadFile(n.raw) // an unreadable file is empty
		return data
	case bytes.Equal(n.data, n.synced) || !lose():
		return n.data
	case lose():
		return n.synced
	case lose() && len(n.synced) < len(n.data):
		return n.data[:len(n.synced)+(len(n.data)-len(n.synced))/2]
	}

	// Sectors are lost in any order. The length may be stored without the data, which are zeros then.
	before := append(bytes.Clone(n.synced), make([]byte, max(0, len(n.data)-len(n.synced)))...)
	out := bytes.Clone(n.data)
	for at := 0; at < len(out); at += sector {
		if lose() {
			copy(out[at:min(at+sector, len(out))], before[at:])
		}
	}
	return out
}

// AfterPowerCut returns the watched folder after a power cut, by path. lose decides for each thing that
// was not synced whether it is lost. A folder's path ends in a slash; a symbolic link's path ends in
// an @, and its content is its target.
func (d *Disk) AfterPowerCut(lose func() bool) map[string][]byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := map[string][]byte{}
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		switch {
		case n.link != "":
			files[path+"@"] = []byte(n.link)
			return
		case n.durable == nil:
			files[path] = n.afterPowerCut(lose)
			return
		}

		entries := maps.Clone(n.durable)
		for _, e := range n.pending {
			if !lose() {
				apply(entries, e)
			}
		}
		files[path+"/"] = nil
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			walk(entries[name], path+"/"+name)
		}
	}
	walk(d.model.root, "")
	return files
}

// PowerCuts returns the possible results of a power cut now, each once: all lost, nothing lost, and many
// in between. Paths that contain without, such as those of a folder that is never read, are left out.
func (d *Disk) PowerCuts(dice *rand.Rand, without string) (all []map[string][]byte) {
	seen := map[[sha256.Size]byte]bool{}
	try := func(lose func() bool) {
		files := d.AfterPowerCut(lose)
		sum := sha256.New()
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if without != "" && strings.Contains(path, without) {
				delete(files, path)
				continue
			}
			fmt.Fprintf(sum, "%s %d\n", path, len(files[path]))
			sum.Write(files[path])
		}
		if key := [sha256.Size]byte(sum.Sum(nil)); !seen[key] {
			seen[key] = true
			all = append(all, files)
		}
	}

	try(func() bool { return true })
	try(func() bool { return false })
	for only := range 10 { // all but one stay, and all but one are lost
		at := 0
		try(func() bool { at++; return at-1 == only })
		at = 0
		try(func() bool { at++; return at-1 != only })
	}
	for range 10 {
		odds := dice.IntN(9) + 1
		try(func() bool { return dice.IntN(10) < odds })
	}
	return all
}

// Synced reports whether all data written to files are on disk.
func (d *Disk) Synced() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	var whole func(n *node) bool
	whole = func(n *node) bool {
		for _, below := range n.live() {
			if !whole(below) {
				return false
			}
		}
		return n.raw != "" || bytes.Equal(n.data, n.synced)
	}
	return whole(d.model.root)
}

// WriteFiles writes the result of a power cut into a folder.
func WriteFiles(folder string, files map[string][]byte) error {
	var err error
	for _, path := range slices.Sorted(maps.Keys(files)) {
		name := filepath.Join(folder, strings.TrimSuffix(path, "@"))
		switch {
		case strings.HasSuffix(path, "/"):
			err = errors.Join(err, os.MkdirAll(name, 0o755))
		case strings.HasSuffix(path, "@"):
			err = errors.Join(err, os.Symlink(string(files[path]), name))
		default:
			err = errors.Join(err, os.WriteFile(name, files[path], 0o600))
		}
	}
	return err
}
