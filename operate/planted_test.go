package operate_test

import (
	"testing"

	"ninepocket/internal/mutationtest"
)

// planted has each rule of continuity taken out once. TestContinuity has to find every one. Other
// rules have separate tests: smoke queries (engine, TestSmokeWrongNames), a feed without a time
// (cmd, TestDailyWithoutATime), a rolled-back day (TestDailyDiscardsADay) and an equal snapshot
// (TestDailyOfEqualContent).
var planted = []mutationtest.Mistake{
	{
		What: "a card goes when no source lists it", File: "../loader/build.go",
		Text:    "\tb.carryUnlisted(b.merged)\n",
		Instead: "",
	},
	{
		What: "an unlisted card has no price", File: "../loader/missing.go",
		Text:    "return it.unlisted != 0 && l.base >= 0",
		Instead: "return it.unlisted < 0 && l.base >= 0",
	},
	{
		What: "a price is carried for ever", File: "../loader/missing.go",
		Text:    "if l.day+carryDays < a.b.newest",
		Instead: "if l.day+1000*carryDays < a.b.newest",
	},
	{
		What: "a card that returns lacks its archived days", File: "../loader/archive.go",
		Text:    "b.lacksFrom[int32(i)] = from\n",
		Instead: "",
	},
	{
		What: "a card that an operator removed stays", File: "../loader/build.go",
		Text:    "\tb.dropRemoved(b.merged)\n",
		Instead: "",
	},
	{
		What: "an alias joins no unlisted card", File: "../loader/build.go",
		Text:    "if err := b.joinAliases(b.merged); err != nil {",
		Instead: "if err := error(nil); err != nil {",
	},
	{
		What: "half of a feed may be unlisted", File: "../snapshot/guard/guard.go",
		Text:    `row("cards_unlisted", 0.05,`,
		Instead: `row("cards_unlisted", 1,`,
	},
	{
		What: "half of the groups may be missing", File: "../snapshot/guard/guard.go",
		Text:    `row("groups_missing", 0.05,`,
		Instead: `row("groups_missing", 1,`,
	},
	{
		What: "half of a feed may be yesterday's", File: "../snapshot/guard/guard.go",
		Text:    "row(feedPartlyOldName, 0.2,",
		Instead: "row(feedPartlyOldName, 1,",
	},
	{
		What: "a group that is not listed loses its prices at once", File: "../loader/missing.go",
		Text:    "\ta.findUnlistedGroups()\n",
		Instead: "",
	},
	{
		What: "a file of text is read for the few prices in it", File: "../loader/source/tcgcsv_prices.go",
		Text:    "if badPrices*2 > len(list) {",
		Instead: "if badPrices*2 > 3*len(list) {",
	},
	{
		What: "equal rows contradict each other", File: "../loader/source/tcgcsv_prices.go",
		Text:    "if again && cents != row.rec.cents {",
		Instead: "if again && cents != row.rec.cents-1 {",
	},
	{
		What: "hundredfold prices of a group are taken", File: "../loader/archive.go",
		Text:    "reason = wrong[p.b.merged.cards[item].set]",
		Instead: "reason = wrong[-9]",
	},
	{
		What: "an archived day is not judged", File: "../loader/archive.go",
		Text:    `if p.archived && why != "" {`,
		Instead: `if p.archived && why == "-" {`,
	},
	{
		What: "the file of an earlier tree of a day is not read", File: "../operate/build.go",
		Text:    "range feed.DayFiles(folder, text) {",
		Instead: "range feed.DayFiles(folder, text)[:1] {",
	},
	{
		What: "an earlier tree has a word on what the last one has", File: "../loader/archive.go",
		Text:    `return from != "" && from != p.report.Input.Path`,
		Instead: `return from == "-"`,
	},
	{
		What: "rows that a second tree has no more stay", File: "../loader/missing.go",
		Text:    "a.readDays[of] = append(a.readDays[of], key.day)",
		Instead: "_ = of",
	},
}

// TestPlanted plants each mistake. make torture runs the simulation for each, from three seeds.
func TestPlanted(t *testing.T) {
	t.Parallel()
	mutationtest.Run(t, planted, "TestContinuity", "--- FAIL: TestContinuity", "NINEPOCKET_TORTURE=60")
}
