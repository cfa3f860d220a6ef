package snapshot

import (
	"sync/atomic"
	"weak"
)

// closedName is the section of closed days.
const closedName = "closed"

// closedTogether is the number of days that are closed at the same time. With more of them, the part that is
// written each day is larger. With fewer, all points are written again more often.
const closedTogether = 32

// ClosedDays returns the first and the last day that are closed in a catalog of a date. They stay the same
// until further days are closed, because all catalogs until then have them (decision 4302).
func ClosedDays(date Day) (first, last Day) {
	last = date - date%closedTogether - 1
	return WindowStart(last+closedTogether, HistoryDays), last
}

// Len is the number of lists; nil has none.
func (closed *Closed) Len() int {
	if closed == nil {
		return 0
	}
	return closed.Of.Len()
}

// Size is how many bytes the points of all lists take; nil has none.
func (closed *Closed) Size() int64 {
	if closed == nil {
		return 0
	}
	return int64(len(closed.Points))
}

// Stored is the stored form of the points of a list.
func (closed *Closed) Stored(list int) []byte {
	start, end := closed.Of.Range(list)
	return closed.Points[start:end]
}

// SplitPoints appends the stored points of a list to closed if they are of the days from first to last, and
// the others to open. It appends nothing if none are of these days.
func SplitPoints(open, closed, stored []byte, first, last Day) (newOpen, newClosed []byte) {
	closed, at, rest := CutPoints(closed, stored, 0, first, last+1)
	if at.Day == NoDay {
		return open, closed
	}

	open, before, _ := CutPoints(open, stored, 0, 0, first)
	if len(rest) > 0 {
		after, behind := at.next(rest)
		open = append(ExtendPoints(open, before, []Point{after}), behind...)
	}
	return open, closed
}

// storedClosed is the section that closed days were read from.
type storedClosed struct {
	section Section
	read    func(Section) ([]byte, error)
	points  int // of all lists
	// verified says that the strong checksum was compared, too.
	verified bool
}

// lastClosed are the closed days that were read last, for as long as a catalog has them. Snapshots of one month
// have the same, and then one copy of them is in memory.
var lastClosed atomic.Pointer[weak.Pointer[Closed]]

// knownClosed returns the closed days of a section if a catalog in memory has them, else nil. With verified, only
// such that were verified count.
func (s *Section) knownClosed(verified bool) *Closed {
	if last := lastClosed.Load(); last != nil {
		closed := last.Value()
		if closed != nil && closed.stored.section == *s && (closed.stored.verified || !verified) {
			return closed
		}
	}
	return nil
}

// InMemory reports whether a catalog in memory has the content of a section, so that a load shares it.
func (s *Section) InMemory() bool { return s.knownClosed(false) != nil }

// remember notes where closed days were read from.
func (closed *Closed) remember(from storedClosed) {
	closed.stored = &from
	last := weak.Make(closed)
	lastClosed.Store(&last)
}

// file returns the file that closed days were read from, if it is whole.
func (closed *Closed) file() (stored file, ok bool) {
	if closed == nil || closed.stored == nil {
		return file{}, false
	}
	packed, err := closed.stored.read(closed.stored.section)
	if err == nil {
		err = closed.stored.section.check(packed, true)
	}
	return file{closed.stored.section, packed}, err == nil
}
