package snapshot_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/klauspost/compress/zstd"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// forger makes wrong snapshots with valid checksums. It follows docs/dev/SNAPSHOT.md, not the
// code.
type forger struct {
	m     *snapshot.Manifest
	files map[string][]byte
	root  string
}

func newForger(t testing.TB) *forger {
	t.Helper()
	d := openDir(t.TempDir())
	m := write(t, d, fixture.Random(1, tiny).Catalog())
	return &forger{m: m, files: snapshotFiles(t, d, m.ID), root: t.TempDir()}
}

func pack(t testing.TB, raw []byte) []byte {
	t.Helper()
	enc, err := forging()
	if err != nil {
		t.Fatal(err)
	}
	return enc.EncodeAll(raw, nil)
}

// forging is the compressor of all forged sections: its tables are large.
var forging = sync.OnceValues(func() (*zstd.Encoder, error) { return zstd.NewWriter(nil) })

func (f *forger) section(name string) *snapshot.Section {
	return &f.m.Sections[slices.IndexFunc(f.m.Sections, func(s snapshot.Section) bool { return s.Name == name })]
}

// raw is the decoded bytes of a section.
func (f *forger) raw(t testing.TB, name string) []byte {
	t.Helper()
	dec, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer dec.Close()

	raw, err := dec.DecodeAll(f.files[f.section(name).File], nil)
	if err != nil {
		t.Fatal(err)
	}

	return raw
}

// put replaces a section's file by packed bytes that the manifest says unpack to raw bytes.
func (f *forger) put(name string, packed []byte, raw int) {
	s := f.section(name)
	*s = forged(*s, packed, raw)
	f.files[s.File] = packed
}

// add inserts a section before the quarantine report.
func (f *forger) add(s snapshot.Section, packed []byte, raw int) {
	s.File = s.Name + ".msgpack.zst"
	s.Codec = "zstd"
	f.m.Sections = slices.Insert(f.m.Sections, len(f.m.Sections)-1, forged(s, packed, raw))
	f.files[s.File] = packed
}

// forged is a section as the manifest has it, when its file is packed and said to unpack to raw
// bytes.
func forged(s snapshot.Section, packed []byte, raw int) snapshot.Section {
	sum := sha256.Sum256(packed)
	s.Bytes = int64(len(packed))
	s.Raw = int64(raw)
	s.XXH64 = fmt.Sprintf("%016x", xxhash.Sum64(packed))
	s.SHA256 = hex.EncodeToString(sum[:])
	return s
}

// sealed adds the checksum line.
func sealed(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(body, "sha256:"+hex.EncodeToString(sum[:])+"\n"...)
}

// store writes the forged files under the id that they require.
func (f *forger) store(t testing.TB) (*snapshot.Store, string) {
	t.Helper()
	h := sha256.New()
	fmt.Fprintf(h, "%d %s\n", f.m.Format, f.m.SnapshotAt.Format(time.RFC3339Nano))
	for _, s := range f.m.Sections {
		fmt.Fprintf(h, "%s %s\n", s.Name, s.SHA256)
	}

	f.m.ID = f.m.SnapshotAt.Format("20060102T150405Z") + "-" + hex.EncodeToString(h.Sum(nil)[:8])
	body, err := json.MarshalIndent(f.m, "", "  ")
	if err != nil {
		t.Fatal(err)
	}

	f.files["manifest"] = sealed(append(body, '\n'))
	d := openDir(f.root)
	if err := os.MkdirAll(d.Path(f.m.ID), 0o755); err != nil {
		t.Fatal(err)
	}

	for name, data := range f.files {
		if err := os.WriteFile(filepath.Join(d.Path(f.m.ID), name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	return d, f.m.ID
}

func TestForgerForgesWhatLoads(t *testing.T) {
	f := newForger(t)
	raw := f.raw(t, "cards")
	f.put("cards", pack(t, raw), len(raw))
	d, id := f.store(t)
	if err := d.Verify(id); err != nil {
		t.Fatalf("an honest forgery does not verify: %v", err)
	}
}

// allocated is how many bytes were allocated while do ran.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// smallSection is the memory that reading a tiny catalog may take: the windows of a dozen decoders
// that run side by side, and the catalog.
const smallSection = 24 << 20

// TestForgedLengthsTakeNoMemory declares lengths of gigabytes in every place that declares a
// length, with valid checksums.
func TestForgedLengthsTakeNoMemory(t *testing.T) {
	big := func(code byte) []byte {
		return binary.BigEndian.AppendUint32([]byte{code},
			1<<32-4)
	} // whole rows of any width

	column := func(name string, header []byte) []byte {
		return slices.Concat([]byte{0x82, 0xa0 | byte(len(name))}, []byte(name), header)
	}
	f := func(what, section string, forge func(f *forger)) {
		t.Helper()
		forged := newForger(t)
		forge(forged)
		d, id := forged.store(t)
		var err error
		n := allocated(func() { err = d.Verify(id) })
		for try := 0; try < 4 && n > smallSection; try++ { // the rest of the process allocates, too
			n = min(n, allocated(func() { err = d.Verify(id) }))
		}
		if n > smallSection {
			t.Errorf("%s: %d MB were allocated", what, n>>20)
		}

		if got := damagedSection(t, err); got != section {
			t.Errorf("%s: section %q is named: %v", what, got, err)
		}
	}

	movers := func(raw []byte) func(f *forger) { return func(f *forger) { f.put("movers", pack(t, raw), len(raw)) } }
	f("a column of 4 GB", "movers", movers(column("up", big(0xc6))))
	f("a string of 4 GB", "movers", movers(column("up", big(0xdb))))
	f("a column name of 4 GB", "movers", movers(append([]byte{0x82}, big(0xdb)...)))
	f("a map of 4 G entries", "movers", movers(big(0xdf)))
	f("an array", "movers", movers(big(0xdd)))
	f("an extension of 4 GB", "movers", movers(column("up", append(big(0xc9), 1))))
	f("4 GB in the manifest", "movers", func(f *forger) { f.section("movers").Raw = 1 << 32 })
	f("beyond 4 GB in the manifest", "manifest", func(f *forger) { f.section("movers").Raw = 1<<32 + 1 })
	f("a length below zero", "manifest", func(f *forger) { f.section("movers").Raw = -1 })

	// A frame of one segment that declares 4 GB, with a block of one byte.
	frame := append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, 0, 0, 0, 0, 1, 0, 0, 0)
	frame = append(frame, 0x09, 0, 0, 'x')
	f("4 GB in the frame and the manifest", "movers", func(f *forger) { f.put("movers", frame, 1<<32) })
	// A frame that declares a window of 1 GB.
	f("a window of 1 GB", "movers", func(f *forger) {
		f.put("movers", []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x09, 0, 0, 'x'}, 1)
	})
}

// TestABombIsCutOff unpacks a file that grows far beyond its length in the manifest.
func TestABombIsCutOff(t *testing.T) {
	f := newForger(t)
	f.put("movers", pack(t, make([]byte, 64<<20)), 1000)
	d, id := f.store(t)
	var err error
	if n := allocated(func() { err = d.Verify(id) }); n > 24<<20 {
		t.Errorf("%d MB were allocated", n>>20)
	}

	if got := damagedSection(t, err); got != "movers" {
		t.Errorf("section %q is named: %v", got, err)
	}
}

// TestForgedColumns changes the shape of a section with valid checksums.
func TestForgedColumns(t *testing.T) {
	f := func(section string, raw []byte, want string) {
		t.Helper()
		forged := newForger(t)
		forged.put(section, pack(t, raw), len(raw))
		d, id := forged.store(t)
		err := d.Verify(id)
		if got := damagedSection(t, err); got != section || !strings.Contains(err.Error(), want) {
			t.Errorf("want damage of %q with %q, got %v", section, want, err)
		}
	}

	bin := func(name string, b ...byte) []byte {
		return slices.Concat([]byte{0xa0 | byte(len(name))}, []byte(name), []byte{0xc4, byte(len(b))}, b)
	}

	section := func(columns ...[]byte) []byte {
		return append([]byte{0x80 | byte(len(columns))}, bytes.Join(columns, nil)...)
	}
	f("movers", section(bin("up"), bin("down"), bin("sideways")), "has 3 columns instead of 2")
	f("movers", section(bin("up")), "has 1 columns instead of 2")
	f("movers", section(bin("down"), bin("up")), `column "up" is not where it should be`)
	f("movers", section(bin("up"), bin("donw")), `column "down" is not where it should be`)
	f("movers", append(section(bin("up"), bin("down")), 0), "has bytes after its last column")
	f("movers", section(bin("up", 1, 2, 3), bin("down")), "not a multiple of 4")
	f("movers", section(bin("up", 255, 0, 0, 0), bin("down")), "refers to row 255 of 3")
	f("movers", section(bin("up"), append(bin("down")[:5], 0xc0)), "declares -1 bytes")
	f("movers", section(bin("up"), append(bin("down")[:5], 0x07)), "is not bytes")
	f("movers", []byte{0xc0}, "has -1 columns")
	f("movers", []byte{0x07}, "is not a map")
	f("movers", nil, "is not a map")
	games := func(slugEnds ...byte) []byte {
		return section(bin("slug", 'a', 'b'), bin("slug.ends", slugEnds...), bin("name", 'A', 'B'),
			bin("name.ends", 1, 0, 0, 0, 2, 0, 0, 0))
	}

	f("games", games(2, 0, 0, 0, 1, 0, 0, 0), "ends that do not fit")
	f("games", games(1, 0, 0, 0, 3, 0, 0, 0), "ends that do not fit")
	f("games", games(1, 0, 0, 0, 1, 0, 0, 0), "ends that do not fit")
	f("games", games(2, 0, 0, 0), "columns of 1 and 2 rows")
}

// withOptional is a forger of a snapshot with two optional sections that this program does not
// know. Their content is irrelevant here, so it need not even unpack.
func withOptional(t testing.TB) *forger {
	t.Helper()
	f := newForger(t)
	f.add(snapshot.Section{Name: "beyond", Optional: true}, pack(t, []byte{0x80}), 1)
	f.add(snapshot.Section{Name: "future", Optional: true}, []byte("no frame"), 1000)

	return f
}

// TestUnknownOptionalSections: a reader serves, verifies and publishes a snapshot of a newer
// builder without the unknown sections. The catalog equals the one without them.
func TestUnknownOptionalSections(t *testing.T) {
	f := withOptional(t)
	d, id := f.store(t)
	if err := d.Verify(id); err != nil {
		t.Fatalf("verifying: %v", err)
	}

	got, err := d.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatalf("loading: %v", err)
	}

	got.ID = ""
	if want := fixture.Random(1, tiny).Catalog(); dump(got) != dump(want) {
		t.Error("the catalog is another one than without optional sections")
	}

	if _, err := d.Publish(id, snapshot.PublishOptions{Now: noon, Check: anything}); err != nil {
		t.Errorf("publishing: %v", err)
	}

	m, err := d.Manifest(id)
	if err != nil {
		t.Fatal(err)
	}

	var optional []string
	for _, s := range m.Sections {
		if s.Optional {
			optional = append(optional, s.Name)
		}
	}

	if !slices.Equal(optional, []string{"beyond", "future"}) {
		t.Errorf("the manifest has the optional sections %q", optional)
	}
}

// TestDamagedOptionalSection: unread sections are compared with their checksums, too.
func TestDamagedOptionalSection(t *testing.T) {
	for _, section := range []string{"beyond", "future"} {
		f := withOptional(t)
		d, id := f.store(t)
		path := filepath.Join(d.Path(id), f.section(section).File)
		if err := os.WriteFile(path, bytes.Repeat([]byte{1}, int(f.section(section).Bytes)), 0o600); err != nil {
			t.Fatal(err)
		}

		_, err := d.Load(t.Context(), id, nil)
		for _, err := range []error{err, d.Verify(id)} {
			if got := damagedSection(t, err); got != section {
				t.Errorf("damage of %q names section %q", section, got)
			}
		}

		if _, err := d.Publish(id, snapshot.PublishOptions{Now: noon, Check: anything}); !errors.Is(err,
			snapshot.ErrDamaged) {
			t.Errorf("with damage of %q, publishing gives %v", section, err)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}

		if got := damagedSection(t, d.Verify(id)); got != section {
			t.Errorf("without %q, section %q is named", section, got)
		}
	}
}

// TestMisplacedOptionalSections: a section that is not known is refused unless it is marked as
// optional, and optional ones have a place of their own.
func TestMisplacedOptionalSections(t *testing.T) {
	f := func(want string, forge func(f *forger)) {
		t.Helper()
		forged := withOptional(t)
		forge(forged)
		d, id := forged.store(t)
		err := d.Verify(id)
		if got := damagedSection(t, err); got != "manifest" || !strings.Contains(err.Error(), want) {
			t.Errorf("want damage of the manifest with %q, got %v", want, err)
		}
	}

	named := func(name string) func(f *forger) {
		return func(f *forger) { f.add(snapshot.Section{Name: name, Optional: true}, nil, 0) }
	}

	f("this program does not know", func(f *forger) { f.section("future").Optional = false })
	f("this program does not know", func(f *forger) { f.section("future").Name = "../future" })
	f("this program does not know", named("beyond"))
	f("this program does not know", named("earlier"))
	f("this program does not know", named("quarantine"))
	f("this program does not know", named("sets"))
	f("this program does not know", named("Upper"))
	f("belongs", func(f *forger) { f.section("future").File = "aliases.msgpack.zst" })
	f("belongs", func(f *forger) { f.section("future").Codec = "none" })
	f("belongs", func(f *forger) { f.section("cards").Optional = true })
	f("belongs", func(f *forger) { f.section("quarantine").Optional = true })
	f("13 sections", func(f *forger) { f.m.Format = 2; f.m.Sections = slices.Delete(f.m.Sections, 11, 13) })
}

// TestStrongChecksum has a file with a valid XXH64 and a wrong SHA-256: serving does not look,
// verifying does.
func TestStrongChecksum(t *testing.T) {
	for _, section := range append(snapshot.SectionNames(), "quarantine") {
		f := newForger(t)
		f.section(section).SHA256 = strings.Repeat("0", 64)
		d, id := f.store(t)
		if got := damagedSection(t, d.Verify(id)); got != section {
			t.Errorf("section %q is named for %q", got, section)
		}

		if _, err := d.Load(context.Background(), id, nil); err != nil {
			t.Error(err)
		}

		if _, err := d.Publish(id, snapshot.PublishOptions{Now: noon, Check: anything}); !errors.Is(err,
			snapshot.ErrDamaged) {
			t.Errorf("published: %v", err)
		}
	}
}

func TestNewerFormat(t *testing.T) {
	f := newForger(t)
	f.m.Format = snapshot.Format + 1
	d, id := f.store(t)
	_, err := d.Load(context.Background(), id, nil)
	for _, err := range []error{err, d.Verify(id)} {
		if !errors.Is(err, snapshot.ErrNewerFormat) || errors.Is(err, snapshot.ErrDamaged) {
			t.Errorf("a newer format: %v", err)
		}
	}

	if _, err := d.Publish(id, snapshot.PublishOptions{Now: time.Now(), Check: anything}); !errors.Is(err,
		snapshot.ErrNewerFormat) {
		t.Errorf("publishing a newer format: %v", err)
	}
}

func TestForgedManifest(t *testing.T) {
	f := func(want string, forge func(m *snapshot.Manifest)) {
		t.Helper()
		forged := newForger(t)
		forge(forged.m)
		d, id := forged.store(t)
		err := d.Verify(id)
		if got := damagedSection(t, err); got != "manifest" || !strings.Contains(err.Error(), want) {
			t.Errorf("want damage of the manifest with %q, got %v", want, err)
		}
	}

	f("where", func(m *snapshot.Manifest) { m.Sections[0], m.Sections[1] = m.Sections[1], m.Sections[0] }) // air: a swap
	f("instead of", func(m *snapshot.Manifest) { m.Sections = m.Sections[1:] })
	f("instead of", func(m *snapshot.Manifest) { m.Sections = append(m.Sections, m.Sections[0]) })
	f("where", func(m *snapshot.Manifest) { m.Sections[0].File = "../../../games" })
	f("where", func(m *snapshot.Manifest) { m.Sections[0].Codec = "none" })
	f("impossible length", func(m *snapshot.Manifest) { m.Sections[0].Bytes = -1 })
	f("has format 0", func(m *snapshot.Manifest) { m.Format = 0 })
	f("not in UTC", func(m *snapshot.Manifest) { m.SnapshotAt = m.SnapshotAt.In(time.FixedZone("", 3600)) })
	f("whole milliseconds", func(m *snapshot.Manifest) { m.SnapshotAt = m.SnapshotAt.Add(time.Microsecond) })
}
