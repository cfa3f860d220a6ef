package synth

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// seen remembers enough of what was written to recognise what it shares with what follows.
type seen struct {
	names    map[string]bool // of the first cards
	twins    map[string]bool // set, name and number of the first cards
	sets     map[string]bool // names
	partners map[string]bool // values of the first cards
}

// seenCards bounds what is remembered.
const seenCards = 4096

func newSeen() seen {
	return seen{names: map[string]bool{}, twins: map[string]bool{}, sets: map[string]bool{}, partners: map[string]bool{}}
}

// before reports whether key was there before, and keeps it.
func before(m map[string]bool, key string) bool {
	if m[key] {
		return true
	}
	if len(m) < seenCards {
		m[key] = true
	}
	return false
}

func (w *writer) noteSet(s *set) {
	w.sum.noteIf(Lane{Ref: s.ref}, []found{
		{SetPlain, s.series == ""},
		{SetUndated, s.released == always},
		{SetUnnamed, len(s.aliases) == 0},
		{SetAliased, len(s.aliases) > 0},
		{SetRecent, s.released > -30},
		{SetTwinName, before(w.seen.sets, s.name)},
	})
}

// noteCard notes the cases of a card while there is room for more of them, which spares large catalogs the time.
func (w *writer) noteCard(k *card) {
	if k.ordinal >= seenCards && k.ordinal < w.cat.Cards {
		return
	}
	at := Lane{Ref: k.ref}
	w.noteName(k, at)
	w.noteNumber(k.number, at)
	w.noteLanes(k.lanes, at)
	partner := partnerOf(k.ids)
	w.sum.noteIf(at, []found{
		{WithoutSet, k.noSet},
		{WithoutNumber, k.number == ""},
		{WithoutRarity, k.rarity == ""},
		{WithoutImage, k.image == ""},
		{WithoutLanes, len(k.lanes) == 0},
		{WithImage, k.image != ""},
		{WithPrinting, k.printing != ""},
		{WithUpdatedAt, !k.updatedAt.IsZero()},
		{WithPartner, partner != ""},
		{SharedPartner, partner != "" && before(w.seen.partners, partner)},
		{TwinPrinting, k.number != "" && before(w.seen.twins, k.set.ref+"\x00"+k.name+"\x00"+k.number)},
	})
}

// noteLanes notes the cases that are of a card's lanes together.
func (w *writer) noteLanes(lanes []lane, at Lane) {
	licensed := 0
	for i, l := range lanes {
		if !l.unlicensed {
			licensed++
		}
		if i == 0 || l.condition != "ungraded" || lanes[i-1].condition != "near_mint" || lanes[i-1].variant != l.variant {
			continue
		}
		mint := lanes[i-1]
		w.sum.noteIf(Lane{at.Ref, mint.variant, mint.condition}, []found{
			{DisplayForbidden, mint.unlicensed && !l.unlicensed},
			{NewCondition, mint.start > w.cat.Day-7 && l.start == always},
		})
	}
	w.sum.noteIf(at, []found{{OnlyUnlicensed, len(lanes) > 0 && licensed == 0}})
}

func partnerOf(ids []identifier) string {
	for _, id := range ids {
		if id.Namespace == partnerNamespace {
			return id.Value
		}
	}
	return ""
}

func (w *writer) noteName(k *card, at Lane) {
	n := k.name
	entity := strings.Contains(n, "&amp;") || strings.Contains(n, "&#") || strings.Contains(n, "&quot;")
	w.sum.noteIf(at, []found{
		{NameAccent, strings.ContainsAny(n, "éèûâ")},
		{NameFemale, strings.Contains(n, "♀")},
		{NameMale, strings.Contains(n, "♂")},
		{NameDelta, strings.Contains(n, "δ")},
		{NameStar, strings.Contains(n, "★")},
		{NameApostrophe, strings.Contains(n, "'")},
		{NameHyphen, strings.Contains(n, "-")},
		{NameDot, strings.Contains(n, ".")},
		{NameOneLetter, len(n) == 1},
		{NameFifty, utf8.RuneCountInString(n) == longestName},
		{NameEntity, entity},
		{NameShared, before(w.seen.names, n)},
	})
}

func (w *writer) noteNumber(number string, at Lane) {
	digits, total, slash := strings.Cut(number, "/")
	n, notNumber := strconv.Atoi(digits)
	of, notTotal := strconv.Atoi(total)
	counted := slash && notNumber == nil && notTotal == nil
	w.sum.noteIf(at, []found{
		{NumberPlain, counted && digits[0] != '0'},
		{NumberPadded, counted && digits[0] == '0'},
		{NumberSecret, counted && n > of},
		{NumberTrainer, strings.HasPrefix(number, "TG")},
		{NumberGalarian, strings.HasPrefix(number, "GG")},
		{NumberBlackStar, strings.HasPrefix(number, "SWSH")},
		{NumberBooster, strings.HasPrefix(number, "OP") && !strings.Contains(number, "_p")},
		{NumberParallel, strings.Contains(number, "_p")},
		{NumberPromotion, strings.HasPrefix(number, "P-")},
		{NumberStarter, strings.HasPrefix(number, "ST")},
		{NumberExtra, strings.HasPrefix(number, "EB")},
	})
}

// The prices of a lane's days as they are noted; everything else is cents.
const (
	centsNoRow   = -2
	centsNoPrice = -1
)

// noteDays notes the cases of a lane's days, the last of which is the newest.
func (w *writer) noteDays(l *lane, prices []int64, at Lane) {
	now := prices[len(prices)-1]
	w.noteNewest(l, now, at)
	d := describe(prices)
	w.sum.noteIf(at, []found{
		{HistoryOnly, now == centsNoRow && l.end < w.cat.Day && d.first >= 0},
		{DayGap, d.gap},
	})
	if now < 0 || len(prices) < 40 {
		return
	}
	base := prices[len(prices)-8]
	w.sum.noteIf(at, []found{
		{Up, base > 0 && now*100 >= base*105},
		{Down, base > 0 && now*105 <= base*100},
		{Unchanged, base == now},
		{ZeroBase, base == 0},
		{Tenfold, base > 0 && now >= base*10},
		{OlderBase, base < 0 && d.lastBefore(8) >= len(prices)-15},
		{NoWeek, d.first > len(prices)-8},
		{NoMonth, d.first > len(prices)-31 && d.first <= len(prices)-8},
		{LostBase, d.first >= 0 && d.first < len(prices)-15 && d.lastBefore(7) < len(prices)-15},
	})
}

// noteNewest counts and notes the row of the newest day.
func (w *writer) noteNewest(l *lane, now int64, at Lane) {
	if now == centsNoRow {
		return
	}
	s := &w.sum
	s.NewestRows++
	if l.unlicensed {
		s.Unlicensed++
		s.note(Unlicensed, at)
	}
	if now == 0 {
		s.note(Zero, at)
	}
	switch {
	case now == centsNoPrice:
		s.Missing++
		s.note(NoCents, at)
	case l.state == unknown:
		s.Unknown++
		s.note(Unknown, at)
	case l.state == stale || l.state == pastEdge:
		s.Stale++
		s.note(Stale, at)
	default:
		s.Fresh++
		s.note(Fresh, at)
	}
	if l.state == edge {
		s.note(Edge, at)
	}
	if l.state == pastEdge {
		s.note(PastEdge, at)
	}
}

// days describes where a lane has prices, by index.
type days struct {
	prices []int64
	first  int // -1: nowhere
	gap    bool
}

func describe(prices []int64) days {
	d := days{prices: prices, first: -1}
	last := -1
	for i, p := range prices {
		if p < 0 {
			continue
		}
		if d.first < 0 {
			d.first = i
		} else if last < i-1 {
			d.gap = true
		}
		last = i
	}
	return d
}

// lastBefore is the index of the last price at least n-1 days before the newest day, -1 for none.
func (d days) lastBefore(n int) int {
	for i := len(d.prices) - n; i >= 0; i-- {
		if d.prices[i] >= 0 {
			return i
		}
	}
	return -1
}
