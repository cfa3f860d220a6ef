package snapshot_test

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ninepocket/snapshot"
)

// diskModel is a file system that forgets at a power cut what was not synced: of a file, the bytes
// written since its last sync; of a directory, any of the entries made, replaced or removed since
// its last sync, each for itself.
type diskModel struct {
	root *node // the parent of the store
}

type node struct {
	// Of a directory:
	durable map[string]*node
	pending []edit
	// Of a file:
	data, synced []byte
}

// edit is a change of a directory's entry; no node removes it.
type edit struct {
	name string
	*node
}

func newDir() *node { return &node{durable: map[string]*node{}} }

// modelOf takes what is below a real directory for durable.
func modelOf(path string) *diskModel {
	var load func(path string) *node
	load = func(path string) *node {
		n := newDir()
		entries, err := os.ReadDir(path)
		if err != nil {
			panic(err)
		}

		for _, e := range entries {
			if e.IsDir() {
				n.durable[e.Name()] = load(filepath.Join(path, e.Name()))
				continue
			}
			b, err := os.ReadFile(filepath.Join(path, e.Name()))
			if err != nil {
				panic(err)
			}
			n.durable[e.Name()] = &node{data: b, synced: b}
		}

		return n
	}

	return &diskModel{load(path)}
}

// live is a directory's entries as a running program sees them.
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

func (m *diskModel) find(path string) *node {
	n := m.root
	if path == "." {
		return n
	}

	for part := range strings.SplitSeq(path, "/") {
		n = n.live()[part]
		if n == nil {
			return nil
		}
	}

	return n
}

// do follows an operation that a store did; paths are relative to the parent of the store.
func (m *diskModel) do(o snapshot.DiskOp) {
	parent := m.find(filepath.Dir(o.Path))
	name := filepath.Base(o.Path)
	switch o.Op {
	case "mkdir":
		if m.find(o.Path) == nil {
			parent.pending = append(parent.pending, edit{name, newDir()})
		}
	case "create":
		parent.pending = append(parent.pending, edit{name, &node{}})
	case "write":
		m.find(o.Path).data = append(m.find(o.Path).data, o.Data...)
	case "sync":
		n := m.find(o.Path)
		n.synced = slices.Clone(n.data)
	case "rename":
		moved := m.find(o.Path)
		parent.pending = append(parent.pending, edit{name, nil})
		to := m.find(filepath.Dir(o.To))
		to.pending = append(to.pending, edit{filepath.Base(o.To), moved})

	case "remove":
		if parent != nil && m.find(o.Path) != nil {
			parent.pending = append(parent.pending, edit{name, nil})
		}
	case "syncdir":
		n := m.find(o.Path)
		n.durable = n.live()
		n.pending = nil
	default:
		panic("the model does not know " + o.Op)
	}
}

// cut returns files by path as one power cut may leave them: lose says of each thing that was not
// synced whether it is lost. Directories are entries that end in a slash.
func (m *diskModel) cut(lose func() bool) map[string][]byte {
	files := map[string][]byte{}
	var walk func(n *node, path string)
	walk = func(n *node, path string) {
		if n.durable == nil {
			files[path] = n.data
			switch {
			case string(n.data) == string(n.synced) || !lose():
			case lose():
				files[path] = n.synced
			default:
				files[path] = n.data[:len(n.synced)+(len(n.data)-len(n.synced))/2]
			}
			return
		}

		entries := maps.Clone(n.durable)
		for _, e := range n.pending {
			if !lose() {
				apply(entries, e)
			}
		}

		files[path+"/"] = nil
		for name, below := range entries {
			walk(below, path+"/"+name)
		}
	}

	walk(m.root, "")
	return files
}

// state is the checksum of what a power cut left.
type state [32]byte

// cuts returns what power cuts may leave now, each outcome once: all lost, all kept, and many in
// between. What is below tmp does not count: nobody reads it.
func (m *diskModel) cuts(dice *rand.Rand) map[state]map[string][]byte {
	all := map[state]map[string][]byte{}
	try := func(lose func() bool) {
		files := m.cut(lose)
		h := sha256.New()
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if strings.Contains(path, "/tmp/") {
				delete(files, path)
				continue
			}
			fmt.Fprintf(h, "%s %d\n", path, len(files[path]))
			h.Write(files[path])
		}

		all[state(h.Sum(nil))] = files
	}

	try(func() bool { return true })
	try(func() bool { return false })
	for only := range 10 { // all but one kept, and all but one lost
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

// lay writes files into a real directory.
func lay(root string, files map[string][]byte) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		var err error
		if strings.HasSuffix(path, "/") {
			err = os.MkdirAll(filepath.Join(root, path), 0o755)
		} else {
			err = os.WriteFile(filepath.Join(root, path), files[path], 0o600)
		}
		if err != nil {
			return err
		}
	}

	return nil
}
