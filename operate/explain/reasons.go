package explain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ninepocket/snapshot"
	"ninepocket/snapshot/diff"
)

// Line is a line of the report of a build that concerns the card.
type Line struct {
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Ref    string `json:"ref"` // "" for a whole file
	Value  string `json:"value"`
}

// String says what is wrong, and where.
func (l *Line) String() string {
	text := fmt.Sprintf("%s, %s %q, line %d", strings.ReplaceAll(l.Reason, "_", " "), l.File, l.Value, l.Line)
	return strings.NewReplacer(` ""`, "", ", line 0", "").Replace(text)
}

// dateIn is the day of a file of an archive.
var dateIn = regexp.MustCompile(`\d{4}-\d\d-\d\d`)

// readReport reads the lines that name the card, by its reference or its number in a file of its category,
// and those of whole files of its group. The report stays with who built the snapshot.
func (e *explainer) readReport(file string) error {
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for row := range strings.Lines(string(text)) {
		var line Line
		if json.Unmarshal([]byte(row), &line) != nil {
			continue
		}

		// Catalogs of the daily feed name the number alone.
		is := line.Ref == "" && e.group != "" && strings.Contains("/"+line.File, "/"+e.group+"/")
		for _, of := range e.Refs {
			_, ref, _ := strings.Cut(of, ":")
			category, id, _ := strings.Cut(ref, "/")
			inCategory := id != "" && strings.Contains("/"+line.File, "/"+category+"/")
			is = is || line.Ref == ref || line.Ref == id && inCategory
		}
		if is {
			e.Refused = append(e.Refused, line)
		}
	}
	return nil
}

func (e *explainer) add(code, format string, args ...any) {
	e.Reasons = append(e.Reasons, Reason{code, fmt.Sprintf(format, args...)})
}

// explainAbsence says why the catalog does not have it, if that is known.
func (e *explainer) explainAbsence(mapping string) bool {
	name, last, gone := e.c.GoneCard(e.ID)
	e.Name = name
	// Decisions of the operator or the build come before the data of the feed.
	removed, _ := os.ReadFile(filepath.Join(mapping, "removed.csv"))
	for _, ref := range append(e.tcgRefs(), e.group) {
		if ref != "" && mapping != "" && strings.Contains(string(removed), ","+ref+",") {
			e.add("removed", "removed.csv of the mapping takes %s out of the catalog", ref)
		}
	}
	for _, line := range e.Refused {
		if line.Ref != "" && !strings.HasSuffix(line.File, "/prices") {
			e.add("refused", "its record was refused: %s", &line)
		}
	}

	if e.listed != nil {
		e.Name = e.listed.Name
		attributes := fmt.Sprint(e.listed.Extended)
		switch {
		case len(e.Reasons) > 0:
		case strings.HasPrefix(e.Name, "Code Card - "):
			e.add("code_card", "the feed lists it as a code card, which is no card")
		case !strings.Contains(attributes, "{Number}") && !strings.Contains(attributes, "{Rarity}"):
			e.add("sealed", "it is a sealed product of unknown package, units or edition: ninepocket mapping suggest")
		default:
			e.add("not_built", "the feed lists it, and the snapshot was built without it")
		}
	}
	switch {
	case gone:
		e.add("gone", "it left the catalog, which had it on %s for the last time", last)
	case len(e.Reasons) > 0:
	case len(e.refsOf(e.ID)) > 0:
		e.add("gone", "an earlier catalog had it, and no source lists it any more")
	case len(e.Days) > 0:
		e.add("no_product", "the feed had prices of it on %s, and lists no such product", e.Days[len(e.Days)-1])
	}
	return len(e.Reasons) > 0
}

// explainItem describes the lanes of an item, and says why it has none.
func (e *explainer) explainItem() {
	c := e.c
	game := slices.Concat(c.Cards.Game, c.Sealed.Game)
	for i := range c.Gaps.Day {
		if of := c.Gaps.Group.At(i); c.Gaps.Game[i] == game[e.item] && (of == "" || of == e.group) {
			e.Gaps = append(e.Gaps, e.gap(i))
		}
	}
	// A price is current on the newest day that its feed has of the game.
	newest := map[uint8]snapshot.Day{}
	for i := range c.NumItems() {
		for lane, to := c.Lanes.Of.Range(i); lane < to && game[i] == game[e.item]; lane++ {
			newest[c.Lanes.Feed[lane]] = max(newest[c.Lanes.Feed[lane]], c.Lanes.LastSeen[lane])
		}
	}

	from, to := c.Lanes.Of.Range(e.item)
	for i := from; i < to; i++ {
		lane := Lane{
			Variant: c.Variants.At(int(c.Lanes.Variant[i])), LastDay: c.Lanes.LastSeen[i].String(),
			Condition: snapshot.Condition(c.Lanes.Condition[i]).Code(), Cents: diff.Cents(c.Lanes.Cents[i]),
			Feed: c.Feeds.Namespace.At(int(c.Lanes.Feed[i])),
		}
		for _, point := range c.History.AppendPoints(nil, i, 0, c.Date()) {
			lane.LastCents = &point.Cents
			lane.LastPriced = point.Day.String()
		}
		if day := newest[c.Lanes.Feed[i]]; lane.Cents == nil || c.Lanes.LastSeen[i] < day {
			lane.Reason = e.whyLane(i, lane.Variant, day)
		}
		e.Lanes = append(e.Lanes, lane)
	}
	if from == to {
		e.explainNoLane()
	}
}

// gap says which day the feed lacks, and why.
func (e *explainer) gap(i int) string {
	text := strings.TrimSpace(e.c.Gaps.Day[i].String() + " " + e.c.Gaps.Group.At(i))
	if reason := e.c.GapReason(i); reason != "" {
		text += " (" + strings.ReplaceAll(reason, "_", " ") + ")"
	}
	return text
}

// whyLane says why a lane has no price of its feed's newest day.
func (e *explainer) whyLane(i int, variant string, newest snapshot.Day) *Reason {
	lanes := &e.c.Lanes
	seen := lanes.LastSeen[i]
	after := ""
	switch {
	case lanes.Cents[i] != snapshot.NoCents:
		after = fmt.Sprintf("; the price of %s stands until %s", seen, seen+snapshot.CarryDays)
	case seen+snapshot.CarryDays < newest:
		after = fmt.Sprintf("; a price stands for %d days, and its last row is of %s", snapshot.CarryDays, seen)
	}
	because := func(code, format string, args ...any) *Reason {
		return &Reason{code, fmt.Sprintf(format, args...) + after}
	}

	// The build's handling of the row comes before gaps of the feed.
	if lanes.Flags[i]&snapshot.LaneLicensed == 0 {
		return because("unlicensed", "the feed does not let its price be distributed")
	}
	for _, line := range e.Refused {
		day := dateIn.FindString(line.File)
		if line.Ref != "" && !strings.HasSuffix(line.File, "/products") && (day == "" || day == newest.String()) &&
			(line.Reason != "duplicate_lane" || line.Value == variant) {
			return because("quarantined", "its row of %s was refused: %s", newest, &line)
		}
	}
	if seen == newest {
		return because("no_price", "the feed names it on %s without a price", newest)
	}
	if since := e.c.UnlistedSince(e.item); since != snapshot.NoDay {
		return because("unlisted", "no source lists it since %s", since)
	}
	for _, gap := range e.Gaps {
		if e.group != "" && strings.HasPrefix(gap+" ", newest.String()+" "+e.group+" ") {
			return because("group_missing", "the feed has no usable prices of its group: %s", gap)
		}
	}
	return because("not_named", "the feed names it no more in this variant and condition, since %s", seen+1)
}

// explainNoLane says why an item has no lane at all.
func (e *explainer) explainNoLane() {
	// The newest tree was read last.
	for _, line := range slices.Backward(e.Refused) {
		switch {
		case len(e.Reasons) > 0:
		case line.Ref != "" && !strings.HasSuffix(line.File, "/products"):
			e.add("quarantined", "its row was refused: %s", &line)
		case strings.HasSuffix(line.File, "/prices"):
			e.add("group_missing", "the prices of its group were refused: %s", &line)
		}
	}
	if since := e.c.UnlistedSince(e.item); since != snapshot.NoDay {
		e.add("unlisted", "no source lists it since %s", since)
	}

	oldest := (e.c.Date() - snapshot.HistoryDays + 1).String()
	last := strings.Join(e.Days[max(0, len(e.Days)-1):], "")
	switch {
	case len(e.Reasons) > 0:
	case last >= oldest && e.item >= e.c.Cards.ID.Len():
		e.add("other_variant", "it is a sealed product, and the feed prices it as a card's variant")
	case last >= oldest:
		e.add("not_read", "archived days have rows of it, which no build has read: build with --reread-days")
	case last != "":
		e.add("expired", "its last row is of %s, and history begins on %s", last, oldest)
	default:
		e.add("never_listed", "no price feed ever had a row of it")
	}
}
