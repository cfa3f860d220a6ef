package synth

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// seen has the values written so far, to recognise later ones that share them.
type seen struct {
	names    map[string]bool // of the first cards
	twins    map[string]bool // set, name and number of the first cards
	sets     map[string]bool // names
	partners map[string]bool // values of the first cards
}

// seenCards bounds the cards in seen.
const seenCards = 4096

func newSeen() seen {
	return seen{
		names: map[string]bool{}, twins: map[string]bool{}, sets: map[string]bool{},
		partners: map[string]bool{},
	}
}

// before reports whether m has key already, and adds it.
func before(m map[string]bool, key string) bool {
	if m[key] {
		return true
	}
	if len(m) < seenCards {
		m[key] = true
	}
	return false
}

func (r *recorder) recordSet(s *set) {
	r.sum.addCases(Lane{Ref: s.ref}, []found{
		{caseSetPlain, s.series == ""},
		{caseSetUndated, s.released == always},
		{caseSetUnnamed, len(s.aliases) == 0},
		{caseSetAliased, len(s.aliases) > 0},
		{caseSetRecent, s.released > -30},
		{caseSetTwinName, before(r.seen.sets, s.name)},
	})
}

// recordCard records the cases of a card until there are enough of them, which saves time for large
// catalogs.
func (r *recorder) recordCard(k *card) {
	// Cards that were added later are always checked, because they are few.
	if k.ordinal >= seenCards && k.ordinal < r.w.cat.Cards {
		return
	}

	at := Lane{Ref: k.ref}
	r.recordName(k, at)
	r.recordNumber(k.number, at)
	r.recordLanes(k.lanes, at)
	partner := partnerOf(k.ids)
	r.sum.addCases(at, []found{
		{caseWithoutSet, k.noSet},
		{caseWithoutNumber, k.number == ""},
		{caseWithoutRarity, k.rarity == ""},
		{caseWithoutImage, k.image == ""},
		{caseWithoutLanes, len(k.lanes) == 0},
		{caseWithImage, k.image != ""},
		{caseWithPrinting, k.printing != ""},
		{caseWithUpdatedAt, !k.updatedAt.IsZero()},
		{caseWithPartner, partner != ""},
		{caseSharedPartner, partner != "" && before(r.seen.partners, partner)},
		{caseTwinPrinting, k.number != "" && before(r.seen.twins, k.set.ref+"\x00"+k.name+"\x00"+k.number)},
	})
}

// recordLanes records the cases of all lanes of a card together.
func (r *recorder) recordLanes(lanes []lane, at Lane) {
	licensed := 0
	for i, l := range lanes {
		if !l.unlicensed {
			licensed++
		}
		if i == 0 || l.condition != "ungraded" || lanes[i-1].condition != "near_mint" ||
			lanes[i-1].variant != l.variant {
			continue
		}

		mint := lanes[i-1]
		r.sum.addCases(Lane{at.Ref, mint.variant, mint.condition}, []found{
			{caseDisplayForbidden, mint.unlicensed && !l.unlicensed},
			{caseNewCondition, mint.start > r.w.cat.Day-7 && l.start == always},
		})
	}
	r.sum.addCases(at, []found{{caseOnlyUnlicensed, len(lanes) > 0 && licensed == 0}})
}

func partnerOf(ids []identifier) string {
	for _, id := range ids {
		if id.Namespace == partnerNamespace {
			return id.Value
		}
	}
	return ""
}

func (r *recorder) recordName(k *card, at Lane) { // air: one step
	n := k.name
	entity := strings.Contains(n, "&amp;") || strings.Contains(n, "&#") || strings.Contains(n, "&quot;")
	r.sum.addCases(at, []found{
		{caseNameAccent, strings.ContainsAny(n, "éèûâ")},
		{caseNameFemale, strings.Contains(n, "♀")},
		{caseNameMale, strings.Contains(n, "♂")},
		{caseNameDelta, strings.Contains(n, "δ")},
		{caseNameStar, strings.Contains(n, "★")},
		{caseNameApostrophe, strings.Contains(n, "'")},
		{caseNameHyphen, strings.Contains(n, "-")},
		{caseNameDot, strings.Contains(n, ".")},
		{caseNameOneLetter, len(n) == 1},
		{caseNameFifty, utf8.RuneCountInString(n) == maxCardName},
		{caseNameEntity, entity},
		{caseNameShared, before(r.seen.names, n)},
	})
}

func (r *recorder) recordNumber(number string, at Lane) {
	digits, total, slash := strings.Cut(number, "/")
	n, notNumber := strconv.Atoi(digits)

	of, notTotal := strconv.Atoi(total)
	counted := slash && notNumber == nil && notTotal == nil
	r.sum.addCases(at, []found{
		{caseNumberPlain, counted && digits[0] != '0'},
		{caseNumberPadded, counted && digits[0] == '0'},
		{caseNumberSecret, counted && n > of},
		{caseNumberTrainer, strings.HasPrefix(number, "TG")},
		{caseNumberGalarian, strings.HasPrefix(number, "GG")},
		{caseNumberBlackStar, strings.HasPrefix(number, "SWSH")},
		{caseNumberBooster, strings.HasPrefix(number, "OP") && !strings.Contains(number, "_p")},
		{caseNumberParallel, strings.Contains(number, "_p")},
		{caseNumberPromotion, strings.HasPrefix(number, "P-")},
		{caseNumberStarter, strings.HasPrefix(number, "ST")},
		{caseNumberExtra, strings.HasPrefix(number, "EB")},
	})
}

// recordDays records the cases of a lane's days, the last of which is the newest.
func (r *recorder) recordDays(l *lane, prices []int64, at Lane) {
	now := prices[len(prices)-1]
	r.recordNewest(l, now, at)
	days := describe(prices)
	r.sum.addCases(at, []found{
		{caseHistoryOnly, now == centsNoRow && l.end < r.w.cat.Day && days.first >= 0},
		{caseDayGap, days.gap},
	})

	// Changes exist only for priced lanes, in catalogs with more than a month of history.
	if now < 0 || len(prices) < 40 {
		return
	}

	base := prices[len(prices)-8]
	r.sum.addCases(at, []found{
		{caseUp, base > 0 && now*100 >= base*105},
		{caseDown, base > 0 && now*105 <= base*100},
		{caseUnchanged, base == now},
		{caseZeroBase, base == 0},
		{caseTenfold, base > 0 && now >= base*10},
		{caseOlderBase, base < 0 && days.lastBefore(8) >= len(prices)-15},
		{caseNoWeek, days.first > len(prices)-8},
		{caseNoMonth, days.first > len(prices)-31 && days.first <= len(prices)-8},
		{caseLostBase, days.first >= 0 && days.first < len(prices)-15 && days.lastBefore(7) < len(prices)-15},
	})
}

// recordNewest counts the row of the newest day and records its cases.
func (r *recorder) recordNewest(l *lane, now int64, at Lane) {
	if now == centsNoRow {
		return
	}

	summary := &r.sum
	summary.NewestRows++
	if l.unlicensed {
		summary.Unlicensed++
		summary.addCase(caseUnlicensed, at)
	}
	if now == 0 {
		summary.addCase(caseZero, at)
	}

	switch {
	case now == centsNoPrice:
		summary.Missing++
		summary.addCase(caseNoCents, at)
	case l.state == unknown:
		summary.Unknown++
		summary.addCase(caseUnknown, at)
	case l.state == stale || l.state == pastEdge:
		summary.Stale++
		summary.addCase(caseStale, at)
	default:
		summary.Fresh++
		summary.addCase(caseFresh, at)
	}

	if l.state == edge {
		summary.addCase(caseEdge, at)
	}
	if l.state == pastEdge {
		summary.addCase(casePastEdge, at)
	}
}

// days describes on which days a lane has prices, by index.
type days struct {
	prices []int64
	first  int // -1: nowhere
	gap    bool
}

func describe(prices []int64) days {
	days := days{prices: prices, first: -1}
	last := -1
	for i, p := range prices {
		if p < 0 {
			continue
		}
		if days.first < 0 {
			days.first = i
		} else if last < i-1 {
			days.gap = true
		}
		last = i
	}
	return days
}

// lastBefore returns the index of the last price at least n-1 days before the newest day, -1 for
// none.
func (d days) lastBefore(n int) int {
	for i := len(d.prices) - n; i >= 0; i-- {
		if d.prices[i] >= 0 {
			return i
		}
	}
	return -1
}
