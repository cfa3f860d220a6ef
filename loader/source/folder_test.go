package source

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// readFolder reads every file of a folder.
func readFolder(in folder) (files, error) {
	out := files{}
	err := in.each(context.Background(), func(string) bool { return true }, func(f file, r io.Reader) error {
		data, err := io.ReadAll(r)
		out[f.name] = string(data)
		return err
	})
	return out, err
}

func TestEveryFolderReadsTheSame(t *testing.T) {
	want := files{"a/b.txt": "one", "a/c.txt": strings.Repeat("two ", 10_000), "d": ""}
	f := func(path string) {
		t.Helper()
		in, err := openFolder(path, defaultLimits)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}

		for range 2 { // a folder is read once for each pass
			got, err := readFolder(in)
			if err != nil || !maps.Equal(got, want) {
				t.Errorf("%s: %d files, %v", path, len(got), err)
			}
		}

		for _, file := range in.files() {
			if file.size != int64(len(want[file.name])) {
				t.Errorf("%s: size of %q is %d", path, file.name, file.size)
			}
		}
	}

	packed := want.tar(t)
	f(want.dir(t))
	f(save(t, "x.tar", packed))
	f(save(t, "x.TAR.ZST", zstdOf(t, packed)))
	f(save(t, "x.tar.gz", gzipOf(t, packed)))
	f(save(t, "x.tgz", gzipOf(t, packed)))
	f(save(t, "x.7z", want.sevenZip(t)))
}

func TestDirectoriesPassOverLinksAndHiddenFiles(t *testing.T) {
	root := files{"2026-04-20/3/1/prices": "{}", ".git/3/1/prices": "{}", ".DS_Store": ""}.dir(t)
	if err := os.Symlink("2026-04-20", filepath.Join(root, "latest")); err != nil {
		t.Skip("cannot make links here:", err)
	}

	link := filepath.Join(t.TempDir(), "data")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}

	in, err := openFolder(link, defaultLimits) // the input itself may be one
	if err != nil {
		t.Fatal(err)
	}

	if list := in.files(); len(list) != 1 || list[0].name != "2026-04-20/3/1/prices" {
		t.Errorf("files %v", list)
	}
}

func TestArchivesCannotLeaveTheirFolder(t *testing.T) {
	f := func(h tarHeader, words ...string) {
		t.Helper()
		good := tarHeader{Header: tar.Header{Name: "3/groups"}, text: "{}"}
		for _, suffix := range []string{".tar", ".tar.zst"} {
			data := packTar(t, good, h)
			if suffix == ".tar.zst" {
				data = zstdOf(t, data)
			}
			_, err := Open(KindTCGCSV, save(t, "a"+suffix, data), Options{})
			wantError(t, err, words...)
		}
	}

	name := func(s string) tarHeader { return tarHeader{Header: tar.Header{Name: s}, text: "x"} }
	f(name("../evil"), `"../evil"`, "leaves")
	f(name("tcgplayer/../../evil"), "tcgplayer/../../evil", "leaves")
	f(name("/etc/passwd"), `"/etc/passwd"`, "absolute")
	f(name(`C:\evil`), "absolute")
	f(name(`a\..\evil`), "backslash")
	f(tarHeader{Header: tar.Header{Name: "3/1/prices", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}},
		`"3/1/prices"`, "link", "/etc/passwd")
	f(tarHeader{Header: tar.Header{Name: "3/1/prices", Linkname: "3/groups", Typeflag: tar.TypeLink}}, "3/1/prices",
		"link")
	f(tarHeader{Header: tar.Header{Name: "3/1/prices", Typeflag: tar.TypeFifo}}, "3/1/prices", "neither")
	f(tarHeader{Header: tar.Header{Name: "3/groups"}, text: "[]"}, "3/groups", "twice")

	g := func(text string, words ...string) {
		t.Helper()
		_, err := Open(KindTCGCSV, save(t, "a.7z", files{"3/1/prices": "{}", text: "x"}.sevenZip(t)), Options{})
		wantError(t, err, words...)
	}

	g("../evil", `"../evil"`, "leaves")
	g("/etc/passwd", "absolute")
}

func TestArchivesCannotExpandWithoutBound(t *testing.T) {
	small := limits{entries: 3, entry: 1 << 20, total: 2 << 20}
	f := func(path string, words ...string) {
		t.Helper()
		_, err := openFolder(path, small)
		wantError(t, err, words...)
	}

	zeros := string(make([]byte, 1<<20+1))
	f(save(t, "a.tar.zst", zstdOf(t, files{"bomb": zeros}.tar(t))), `"bomb"`, "1048576")
	f(save(t, "a.tar.gz", gzipOf(t, files{"bomb": zeros}.tar(t))), `"bomb"`, "1048576")
	f(save(t, "a.7z", files{"bomb": zeros}.sevenZip(t)), `"bomb"`, "1048576")
	first := zeros[:1<<20]
	f(save(t, "b.tar.zst", zstdOf(t, files{"a": first, "b": first, "c": first}.tar(t))), "larger than allowed")
	f(save(t, "b.7z", files{"a": first, "b": first, "c": first}.sevenZip(t)), "larger than allowed")
	many := files{"a": "", "b": "", "c": "", "d": ""}
	f(save(t, "c.tar", many.tar(t)), "more than 3 entries")
	f(save(t, "c.7z", many.sevenZip(t)), "more than 3 entries")

	// A price file that unpacks to more than an entry may have is stopped as well, wherever it
	// lies.
	wide := "ref,variant,2026-08-22\n" + strings.Repeat("a,normal,1\n", 200_000)
	root := files{"source.toml": `namespace = "x"`, "history/a.csv.zst": string(zstdOf(t, []byte(wide)))}.dir(t)
	src, err := open(KindNative, root, Options{limits: small})
	if err != nil {
		t.Fatal(err)
	}

	wantError(t, src.Prices(t.Context(), &recorder{}), "history/a.csv.zst", "larger than allowed")

	// Files that are read whole have a bound of their own.
	if _, err := readWhole(&zeroReader{maxWhole + 1}); !errors.Is(err, errTooBig) {
		t.Errorf("readWhole: %v", err)
	}
	if data, err := io.ReadAll(&limitReader{r: &zeroReader{1000}, n: 1000}); err != nil || len(data) != 1000 {
		t.Errorf("at the bound: %d bytes, %v", len(data), err)
	}
}

type zeroReader struct{ n int }

func (z *zeroReader) Read(p []byte) (int, error) {
	if z.n == 0 {
		return 0, io.EOF
	}
	n := min(z.n, len(p))
	clear(p[:n])
	z.n -= n
	return n, nil
}

// Every proper prefix of an archive is refused: at Open, or at the latest when its records are
// read.
func TestTruncatedArchivesAreRefused(t *testing.T) {
	plain := files{
		"2026-04-20/3/1/prices": pricesFile(tcgRow(1, "Normal", "1.00"), tcgRow(2, "Normal", "2.00")),
		"2026-04-20/3/2/prices": pricesFile(tcgRow(3, "Foil", "3.00")),
	}

	f := func(name string, data []byte, whole int) {
		t.Helper()
		if _, _, err := readAll(KindTCGCSV, save(t, name, data), Options{}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}

		dir := t.TempDir()
		path := filepath.Join(dir, name)
		step := max(1, whole/150)
		for n := 0; n < whole; n += step {
			if err := os.WriteFile(path, data[:n], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, _, err := readAll(KindTCGCSV, path, Options{}); err == nil {
				t.Errorf("%s cut to %d of %d bytes was taken", name, n, len(data))
			}
		}
	}

	packed := plain.tar(t)
	// A plain tar may lose all but the first 512 bytes of its end.
	f("a.tar", packed, len(bytes.TrimRight(packed, "\x00"))+1)
	f("a.tar.zst", zstdOf(t, packed), len(zstdOf(t, packed)))
	f("a.tar.gz", gzipOf(t, packed), len(gzipOf(t, packed)))
	seven := plain.sevenZip(t)
	f("a.7z", seven, len(seven))
	_, err := Open(KindTCGCSV, save(t, "a.tar.zst", zstdOf(t, packed)[:100]), Options{})
	wantError(t, err, "archive is truncated")
}

func TestDamagedArchivesAreRefused(t *testing.T) {
	plain := files{"2026-04-20/3/1/prices": pricesFile(tcgRow(1, "Normal", "1.00"))}
	f := func(name string, data []byte) {
		t.Helper()
		for i := range data {
			bad := slices.Clone(data)
			bad[i] ^= 0x55
			rec, _, err := readAll(KindTCGCSV, save(t, name, bad), Options{})
			// Unnoticed damage must not matter.
			if err == nil && (len(rec.prices) != 1 || rec.prices[0].Cents != 100) && len(rec.refused) == 0 {
				t.Errorf("%s with byte %d flipped gave %+v", name, i, rec.prices)
			}
		}
	}

	f("a.7z", plain.sevenZip(t))
	f("a.tar.zst", zstdOf(t, plain.tar(t)))
}

func TestClip(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := clip(in); got != want {
			t.Errorf("clip(%q) = %q, want %q", in, got, want)
		}
	}

	f("short", "short")
	f("bad \xff utf-8", "bad \uFFFD utf-8")
	f(strings.Repeat("x", 121), strings.Repeat("x", 120)+"…")
	f(strings.Repeat("x", 119)+"éé", strings.Repeat("x", 119)+"…")
}

// sevenZip packs the tree as a 7z archive with the method "copy", by name.
func (f files) sevenZip(tb testing.TB) []byte {
	tb.Helper()

	var packed, names, sizes, sums, attributes []byte
	streams := 0
	list := slices.Sorted(maps.Keys(f))
	bits := make([]byte, (len(list)+7)/8)
	for i, name := range list {
		for _, u := range append(utf16.Encode([]rune(name)), 0) {
			names = binary.LittleEndian.AppendUint16(names, u)
		}

		attributes = binary.LittleEndian.AppendUint32(attributes, 0x20)
		if f[name] == "" {
			bits[i/8] |= 0x80 >> (i % 8)
			continue
		}

		streams++
		packed = append(packed, f[name]...)
		sizes = append(sizes, sevenNumber(uint64(len(f[name])))...)
		sums = binary.LittleEndian.AppendUint32(sums, crc32.ChecksumIEEE([]byte(f[name])))
	}

	last := 0
	for _, name := range list {
		if f[name] != "" {
			last = len(sevenNumber(uint64(len(f[name]))))
		}
	}

	total := sevenNumber(uint64(len(packed)))
	b := []byte{0x01}
	if streams > 0 {
		b = append(b, 0x04, 0x06, 0, 1, 0x09)
		b = append(append(b, total...), 0x00)
		b = append(b, 0x07, 0x0B, 1, 0, 1, 0x01, 0x00, 0x0C)
		b = append(append(b, total...), 0x00, 0x08)
		if streams != 1 {
			b = append(append(b, 0x0D), sevenNumber(uint64(streams))...)
			b = append(append(b, 0x09), sizes[:len(sizes)-last]...)
		}

		b = append(append(b, 0x0A, 1), sums...)
		b = append(b, 0x00, 0x00)
	}

	property := func(id byte, data []byte) {
		b = append(append(append(b, id), sevenNumber(uint64(len(data)))...), data...)
	}
	b = append(append(b, 0x05), sevenNumber(uint64(len(list)))...)
	if streams < len(list) {
		property(0x0E, bits)
		empty := make([]byte, (len(list)-streams+7)/8)
		for i := range len(list) - streams {
			empty[i/8] |= 0x80 >> (i % 8)
		}
		property(0x0F, empty)
	}

	property(0x11, append([]byte{0}, names...))
	property(0x15, append([]byte{1, 0}, attributes...))
	b = append(b, 0x00, 0x00)

	return sevenArchive(packed, b)
}

// sevenArchive puts packed streams and a header together, with the checksums that belong to them.
func sevenArchive(packed, header []byte) []byte {
	start := binary.LittleEndian.AppendUint64(nil, uint64(len(packed)))
	start = binary.LittleEndian.AppendUint64(start, uint64(len(header)))
	start = binary.LittleEndian.AppendUint32(start, crc32.ChecksumIEEE(header))
	out := []byte("7z\xbc\xaf\x27\x1c\x00\x04")
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(start))
	return append(append(append(out, start...), packed...), header...)
}

func sevenNumber(v uint64) []byte {
	if v < 0x80 {
		return []byte{byte(v)}
	}
	return binary.LittleEndian.AppendUint64([]byte{0xFF}, v)
}
