package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// Format is the version of the stored form that this program writes and the newest it reads
// (docs/dev/SNAPSHOT.md).
const Format = 4

// MaxSection bounds the decoded size of one section, because its offsets have 32 bits.
const MaxSection = 1 << 32

// Errors of the store. Damage is a *DamageError, which errors.Is matches with ErrDamaged.
var (
	ErrNoStore     = errors.New("there is no store")
	ErrNoCurrent   = errors.New("no snapshot is published")
	ErrNoPrevious  = errors.New("nothing is recorded that was published before the current snapshot")
	ErrNotPinned   = errors.New("it is not pinned")
	ErrNotFound    = errors.New("no such snapshot")
	ErrDamaged     = errors.New("damaged")
	ErrNewerFormat = errors.New("written by a newer version of ninepocket")
)

// DamageError names the section of a snapshot that differs from the written bytes, or does not match the others.
type DamageError struct {
	Section string // "manifest", "CURRENT" or a section's name
	Reason  string
}

func (e *DamageError) Error() string { return fmt.Sprintf("section %q %s", e.Section, e.Reason) }

// Is makes every damage match ErrDamaged.
func (e *DamageError) Is(target error) bool { return target == ErrDamaged }

// Counts are the numbers of a snapshot's records.
type Counts struct {
	Games         int `json:"games"`
	Sets          int `json:"sets"`
	Cards         int `json:"cards"`
	Products      int `json:"products"`
	Lanes         int `json:"lanes"`
	HistoryPoints int `json:"history_points"`
	Quarantined   int `json:"quarantined"`
}

// Section is one stored section.
type Section struct {
	Name string `json:"name"`
	File string `json:"file"`
	// Codec is "zstd" or "none". Bytes is the length of the file, and the checksums are of the
	// file, too. Raw is the length after decompression.
	Codec  string `json:"codec"`
	Bytes  int64  `json:"bytes"`
	Raw    int64  `json:"raw_bytes"`
	XXH64  string `json:"xxh64"`
	SHA256 string `json:"sha256"`
	// Optional marks a section that a reader may do without. A reader that does not know it does
	// not decode it.
	Optional bool `json:"optional,omitempty"`
}

// Manifest describes one stored snapshot. Its bytes depend on nothing but the input of the build,
// so equal input gives an equal manifest. The modification time of its file says when it was built
// (decision 34).
type Manifest struct {
	Format     int            `json:"format"`
	ID         string         `json:"id"`
	SnapshotAt time.Time      `json:"snapshot_at"`
	Base       string         `json:"base,omitempty"` // id of the snapshot that this one continues
	Counts     Counts         `json:"counts"`
	Quarantine map[string]int `json:"quarantine"`
	Sections   []Section      `json:"sections"`

	// CreatedAt is when the snapshot was built. It is not part of the stored bytes.
	CreatedAt time.Time `json:"-"`
}

// Bytes is the size of the stored sections.
func (m *Manifest) Bytes() int64 {
	var n int64
	for _, s := range m.Sections {
		n += s.Bytes
	}
	return n
}

var idPattern = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{16}$`)

// ValidID reports whether id has the form of a snapshot id. A name of that form cannot lead out of
// the store's folder.
func ValidID(id string) bool { return idPattern.MatchString(id) }

// idTime is how an id writes the instant that its snapshot describes.
const idTime = "20060102T150405Z"

// identify derives the id from the instant and the content (docs/dev/SNAPSHOT.md, The id). Equal
// content has an equal id.
func (m *Manifest) identify() {
	h := sha256.New()
	_, _ = fmt.Fprintf(h, "%d %s\n", m.Format, m.SnapshotAt.Format(time.RFC3339Nano))
	for _, s := range m.Sections {
		_, _ = fmt.Fprintf(h, "%s %s\n", s.Name, s.SHA256)
	}

	m.ID = m.SnapshotAt.Format(idTime) + "-" + hex.EncodeToString(h.Sum(nil)[:8])
}

// encodeChecksummed writes v as JSON and adds a last line, the checksum of all lines before it. So
// a change of any byte of the file is found (docs/dev/SNAPSHOT.md, The checksum line).
func encodeChecksummed(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}

	b = append(b, '\n')
	return fmt.Appendf(b, "sha256:%x\n", sha256.Sum256(b)), nil
}

// decodeChecksummed reads the output of encodeChecksummed into v; section names the file in errors.
func decodeChecksummed(b []byte, section string, v any) error {
	const tail = len("sha256:") + 64 + 1
	if len(b) < tail {
		return &DamageError{section, "is cut off"}
	}

	body := b[:len(b)-tail]
	if want := fmt.Sprintf("sha256:%x\n", sha256.Sum256(body)); string(b[len(body):]) != want {
		return &DamageError{section, "does not have the checksum it was written with"}
	}

	if err := json.Unmarshal(body, v); err != nil {
		return &DamageError{section, "is not what this program writes: " + err.Error()}
	}

	return nil
}

// ParseManifest reads and checks the stored form of the manifest of snapshot id.
func ParseManifest(b []byte, id string) (*Manifest, error) {
	m := &Manifest{}
	if err := decodeChecksummed(b, "manifest", m); err != nil {
		return nil, err
	}

	// The format comes first: a newer one may have other rules than those below.
	if m.Format > Format {
		return nil, fmt.Errorf("snapshot %q has format %d, this program reads up to %d: %w",
			id, m.Format, Format, ErrNewerFormat)
	}

	fail := func(format string, args ...any) (*Manifest, error) {
		return nil, &DamageError{"manifest", fmt.Sprintf(format, args...)}
	}

	if m.Format < 1 {
		return fail("has format %d", m.Format)
	}
	if _, offset := m.SnapshotAt.Zone(); offset != 0 || !m.SnapshotAt.Equal(time.UnixMilli(m.SnapshotAt.UnixMilli())) {
		return fail("has a time that is not in UTC and whole milliseconds")
	}

	// The id is a hash of the content: a manifest of other content does not have it.
	want := *m
	if want.identify(); m.ID != id || want.ID != id {
		return fail("is not that of snapshot %q", id)
	}

	if fault := m.sectionOrderError(); fault != "" {
		return nil, &DamageError{"manifest", fault}
	}

	for _, s := range m.Sections {
		if s.Bytes < 0 || s.Raw < 0 || s.Bytes > MaxSection || s.Raw > MaxSection {
			return fail("gives section %q an impossible length", s.Name)
		}
	}

	return m, nil
}

// optionalName is the form of an optional section's name. The name is a part of its file's name.
var optionalName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,31}$`)

// isTable reports whether every snapshot has a section of this name.
func isTable(name string) bool {
	return name == quarantineName ||
		slices.ContainsFunc(sections, func(section section) bool { return section.name == name })
}

// sectionOrderError says which section is not in its place; "" means that all are. The order of the format
// is: first the tables in their own order, then optional sections by name, last the quarantine
// report. A section that this program does not know must be marked as optional.
func (m *Manifest) sectionOrderError() string {
	last := len(m.Sections) - 1
	tables := tables(m.Format)
	if last < len(tables) || m.Format < 3 && last > len(tables) {
		return fmt.Sprintf("lists %d sections instead of %d", last+1, len(tables)+1)
	}

	// These names become the names of files that are opened, so each must be the expected one.
	for i, s := range m.Sections {
		want := Section{Name: s.Name, File: s.Name + sectionSuffix, Codec: codecZstd, Optional: true}
		switch {
		case i == last:
			want = Section{Name: quarantineName, File: quarantineFile, Codec: codecNone}
		case i < len(tables):
			name := tables[i].name
			want = Section{Name: name, File: name + sectionSuffix, Codec: codecZstd}
		case !s.Optional || isTable(s.Name) || i > len(tables) && s.Name <= m.Sections[i-1].Name,
			!optionalName.MatchString(s.Name): // it becomes the name of a file
			return fmt.Sprintf("lists section %q, which this program does not know, instead of an optional one", s.Name)
		}

		if s.Name != want.Name || s.File != want.File || s.Codec != want.Codec || s.Optional != want.Optional {
			return fmt.Sprintf("lists section %q where %q belongs", s.Name, want.Name)
		}
	}

	return ""
}
