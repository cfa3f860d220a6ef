package synth

import "strings"

// Reason is why a line or row must be quarantined.
type Reason string

// The reasons.
const (
	AsOfAfterCollected     Reason = "source_as_of_after_collected_at"
	CollectedAfterSnapshot Reason = "collected_at_after_snapshot_at"
	DuplicateRef           Reason = "duplicate_ref"
	ImpossibleValue        Reason = "impossible_value"
	NameOutOfBounds        Reason = "name_out_of_bounds"
	DuplicateLane          Reason = "duplicate_lane"
	CenterOnOnePiece       Reason = "pokemon_center_on_one_piece"
)

// Reasons are all reasons.
var Reasons = []Reason{
	AsOfAfterCollected, CollectedAfterSnapshot, DuplicateRef, ImpossibleValue, NameOutOfBounds, DuplicateLane, CenterOnOnePiece,
}

// Rejection is one line or row to be quarantined.
type Rejection struct {
	// Reason is why.
	Reason Reason
	// File is sets.jsonl, cards.jsonl, sealed.jsonl or the path of the price file.
	File string
	// Ref is its ref.
	Ref string
	// Value is the offending value as written, or the row.
	Value string
}

// longestAllowed is the longest name that a product may have.
const longestAllowed = 200

// Rejected rows belong to cards of their own, which are in the catalog and stay there: q1 has prices of impossible times, q2 a lane
// twice, q3 impossible values, each beside one good lane; q4 is there twice; q5 has the longest name allowed; q6 and q7 are rejected
// for their names.
func (w *writer) writeRejected() error {
	w.sum.Quarantine = map[Reason]int{}
	cards := []cardLine{
		{Ref: "q1", Name: "Time Traveller Celebi", Number: "901/102"},
		{Ref: "q2", Name: "Twice Told Ditto", Number: "902/102"},
		{Ref: "q3", Name: "Impossible Unown", Number: "903/102"},
		{Ref: "q4", Name: "Original Smeargle", Number: "904/102"},
		{Ref: "q5", Name: strings.Repeat("Very ", 39) + "Long!", Number: "905/102"},
	}
	for _, k := range cards {
		w.sum.Cards++
		w.sum.CardsByGame[string(pokemon)]++
		w.sum.Rarities[""]++
		if err := w.rejectedCard(k); err != nil {
			return err
		}
	}
	w.reject(DuplicateRef, "cards.jsonl", "q4", "q4")
	w.reject(NameOutOfBounds, "cards.jsonl", "q6", strings.Repeat("é", longestAllowed+1))
	w.reject(NameOutOfBounds, "cards.jsonl", "q7", "")
	for _, k := range []cardLine{
		{Ref: "q4", Name: "Forged Smeargle", Number: "906/102"},
		{Ref: "q6", Name: strings.Repeat("é", longestAllowed+1), Number: "907/102"},
		{Ref: "q7", Number: "908/102"},
	} {
		if err := w.rejectedCard(k); err != nil {
			return err
		}
	}
	w.reject(DuplicateRef, "sets.jsonl", "s0000", "s0000")
	if err := w.sets.line(setLine{Ref: "s0000", Game: pokemon, Name: "Kanto Classic Again"}); err != nil {
		return err
	}
	w.rejectedPrices()
	return w.rejectedSealed()
}

func (w *writer) rejectedCard(k cardLine) error {
	k.Game, k.Set, k.Printing = pokemon, "s0000", "standard"
	return w.cards.line(k)
}

func (w *writer) reject(r Reason, file, ref, value string) {
	w.sum.Quarantine[r]++
	w.sum.Rejected = append(w.sum.Rejected, Rejection{r, file, ref, value})
}

// rejectedSealed writes the sealed products that cannot be.
func (w *writer) rejectedSealed() error {
	for _, k := range []struct {
		reason Reason
		value  string
		line   sealedLine
	}{
		{CenterOnOnePiece, "pokemon_center", sealedLine{"qx1", onePiece, "Straw Crew Center Box", "booster_box", 24, "booster_pack", "pokemon_center", nil, ""}},
		{ImpossibleValue, "0", sealedLine{"qx2", pokemon, "Empty Booster Box", "booster_box", 0, "booster_pack", "standard", nil, ""}},
		{ImpossibleValue, "tin", sealedLine{"qx3", pokemon, "Collector Tin", "tin", 4, "booster_pack", "standard", nil, ""}},
		{NameOutOfBounds, "", sealedLine{"qx4", pokemon, "", "booster_box", 36, "booster_pack", "standard", nil, ""}},
		{DuplicateRef, "x0000-0", sealedLine{"x0000-0", pokemon, "Kanto Classic Booster Box", "booster_box", 36, "booster_pack", "standard", nil, ""}},
	} {
		w.reject(k.reason, "sealed.jsonl", k.line.Ref, k.value)
		if err := w.sealed.line(k.line); err != nil {
			return err
		}
	}
	return nil
}

// rejectedPrices ends the newest price file with the rows that cannot be.
func (w *writer) rejectedPrices() {
	now, soon := stamp(w.cat.at), stamp(w.cat.at.Add(1e9))
	f := w.prices[len(w.prices)-1]
	name := "prices/" + w.sum.Day + ".csv"
	if !w.cat.Plain {
		name += ".zst"
	}
	for _, good := range []string{"q1,normal,near_mint,1500,,", "q2,normal,ungraded,900,,", "q3,normal,ungraded,9007199254740991,,"} {
		f.text(good + now + ",\n")
		w.sum.PriceRows++
		w.sum.NewestRows++
		w.sum.Unknown++
		w.sum.Lanes++
		w.sum.Points++
		w.sum.Variants["normal"]++
	}
	w.sum.Conditions["near_mint"]++
	w.sum.Conditions["ungraded"] += 2
	for _, bad := range []struct {
		reason Reason
		row    string
	}{
		{AsOfAfterCollected, "q1,normal,lightly_played,1200," + soon + "," + now + ","},
		{AsOfAfterCollected, "q1,holofoil,near_mint,4200," + now + "," + stamp(w.cat.at.Add(-1e9)) + ","},
		{CollectedAfterSnapshot, "q1,normal,damaged,300," + now + "," + soon + ","},
		{CollectedAfterSnapshot, "q1,normal,ungraded,800,," + soon + ",true"},
		{DuplicateLane, "q2,normal,near_mint,1000,," + now + ","},
		{DuplicateLane, "q2,normal,near_mint,1001,," + now + ","},
		{DuplicateLane, "q2,holofoil,damaged,77,," + now + ",false"},
		{DuplicateLane, "q2,holofoil,damaged,77,," + now + ",false"},
		{ImpossibleValue, "q3,normal,near_mint,-1,," + now + ","},
		{ImpossibleValue, "q3,normal,damaged,12.5,," + now + ","},
		{ImpossibleValue, "q3,normal,lightly_played,9007199254740992,," + now + ","},
		{ImpossibleValue, "q3,normal,mint,100,," + now + ","},
		{ImpossibleValue, "q3,holofoil,near_mint,100,yesterday," + now + ","},
		{ImpossibleValue, "q3,holofoil,ungraded,100,," + now + ",maybe"},
	} {
		f.text(bad.row + "\n")
		ref, _, _ := strings.Cut(bad.row, ",")
		w.reject(bad.reason, name, ref, bad.row)
	}
}
