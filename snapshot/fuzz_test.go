package snapshot_test

import (
	"errors"
	"strings"
	"testing"

	"ninepocket/internal/fixture"
	"ninepocket/snapshot"
)

// FuzzSection decodes any bytes as any section. It must neither panic nor allocate beyond the
// given bytes, and accepted bytes must be encoded again unchanged.
func FuzzSection(f *testing.F) {
	sections, err := snapshot.EncodeSections(fixture.Random(1, tiny).Catalog())
	if err != nil {
		f.Fatal(err)
	}

	for i, raw := range sections {
		f.Add(uint8(i), raw)
		f.Add(uint8(i), raw[:len(raw)/2])
	}

	f.Add(uint8(9), []byte("\x82\xa2up\xc6\xff\xff\xff\xff"))
	f.Add(uint8(9), []byte("\xdf\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, i uint8, raw []byte) {
		at := int(i) % len(sections)
		c := &snapshot.Catalog{}
		var err error
		if n := allocated(func() { err = snapshot.DecodeSection(c, at, raw) }); n > uint64(1<<20+16*len(raw)) {
			t.Fatalf("%d bytes were allocated for a section of %d", n, len(raw))
		}

		if err != nil {
			return
		}

		_ = c.Validate()
		again, err := snapshot.EncodeSections(c)
		if err != nil {
			t.Fatal(err)
		}

		// A header may be longer than necessary; the columns are equal.
		second := &snapshot.Catalog{}
		if err := snapshot.DecodeSection(second, at, again[at]); err != nil {
			t.Fatalf("what was decoded is not when it is spelt again: %v", err)
		}

		third, err := snapshot.EncodeSections(second)
		if err != nil || string(third[at]) != string(again[at]) {
			t.Fatalf("spelling and reading does not end: %v", err)
		}
	})
}

// FuzzLoad puts any bytes, with valid checksums, in place of a section's file.
func FuzzLoad(f *testing.F) {
	honest := newForger(f)
	for i, name := range snapshot.SectionNames() {
		f.Add(uint8(i), honest.files[honest.section(name).File], len(honest.raw(f, name)))
		f.Add(uint8(i), pack(f, honest.raw(f, name)[:20]), 20)
	}

	f.Add(uint8(9), []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 'x'}, 1<<32)
	names := snapshot.SectionNames()
	var decode []func(snapshot.Section, []byte) (*snapshot.Catalog, error)
	for i := range names {
		read, err := snapshot.DecodeAround(honest.m, i,
			func(s snapshot.Section) ([]byte, error) { return honest.files[s.File], nil })
		if err != nil {
			f.Fatal(err)
		}
		decode = append(decode, read)
	}

	f.Fuzz(func(t *testing.T, i uint8, packed []byte, raw int) {
		at := int(i) % len(names)
		s := forged(*honest.section(names[at]), packed, raw)
		var c *snapshot.Catalog
		var err error
		if n := allocated(func() { c, err = decode[at](s, packed) }); n > uint64(smallSection+64*len(packed)) {
			t.Fatalf("%d MB were allocated for a file of %d bytes", n>>20, len(packed))
		}

		switch {
		case err == nil:
			dump(c) // every accessor stays in bounds
		case !errors.Is(err, snapshot.ErrDamaged):
			t.Fatalf("neither whole nor damaged: %v", err)
		}
	})
}

// FuzzManifest parses any bytes with a valid checksum.
func FuzzManifest(f *testing.F) {
	forged := newForger(f)
	manifest := string(forged.files["manifest"])
	body := manifest[:strings.LastIndex(manifest, "sha256:")]
	f.Add(body, forged.m.ID)
	f.Add("{}", "")
	f.Add(strings.Replace(body, `"format": 1`, `"format": 2`, 1), forged.m.ID)
	f.Add(strings.Replace(body, `"raw_bytes": `, `"raw_bytes": -`, 1), forged.m.ID)
	f.Fuzz(func(t *testing.T, body, id string) {
		if _, err := snapshot.ParseManifest([]byte(body), id); err == nil && !strings.Contains(body, "sha256:") {
			t.Fatal("a manifest without a checksum is taken")
		}

		m, err := snapshot.ParseManifest(sealed([]byte(body)), id)
		switch {
		case err == nil:
			if m.ID != id || !snapshot.ValidID(id) || len(m.Sections) != len(snapshot.SectionNames())+1 {
				t.Fatalf("manifest of %q is taken for that of %q", m.ID, id)
			}
		case !errors.Is(err, snapshot.ErrDamaged) && !errors.Is(err, snapshot.ErrNewerFormat):
			t.Fatalf("neither whole, damaged nor newer: %v", err)
		}
	})
}
