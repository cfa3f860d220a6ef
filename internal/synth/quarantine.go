package synth

import "strings"

// Reason is why a line or row must be quarantined.
type Reason string

// The reasons.
const (
	reasonAsOfAfterCollected     Reason = "source_as_of_after_collected_at"
	reasonCollectedAfterSnapshot Reason = "collected_at_after_snapshot_at"
	reasonDuplicateRef           Reason = "duplicate_ref"
	reasonImpossibleValue        Reason = "impossible_value"
	reasonNameOutOfBounds        Reason = "name_out_of_bounds"
	reasonDuplicateLane          Reason = "duplicate_lane"
	reasonCenterOnOnePiece       Reason = "pokemon_center_on_one_piece"
)

// allReasons are all reasons.
var allReasons = []Reason{
	reasonAsOfAfterCollected, reasonCollectedAfterSnapshot, reasonDuplicateRef, reasonImpossibleValue,
	reasonNameOutOfBounds, reasonDuplicateLane, reasonCenterOnOnePiece,
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

// maxProductName is the longest name that a product may have.
const maxProductName = 200

// Rejected rows belong to separate cards, which stay in the catalog. In addition to one valid lane,
// q1 has prices of impossible times, q2 a lane twice, and q3 impossible values. q4 occurs twice, q5
// has the longest name allowed, and q6 and q7 are rejected for their names.
func (r *recorder) writeRejected() error {
	r.sum.Quarantine = map[Reason]int{}
	cards := []cardLine{
		{Ref: "q1", Name: "Time Traveller Celebi", Number: "901/102"},
		{Ref: "q2", Name: "Twice Told Ditto", Number: "902/102"},
		{Ref: "q3", Name: "Impossible Unown", Number: "903/102"},
		{Ref: "q4", Name: "Original Smeargle", Number: "904/102"},
		{Ref: "q5", Name: strings.Repeat("Very ", 39) + "Long!", Number: "905/102"},
	}
	// These are valid and stay in the catalog.
	for _, line := range cards {
		r.sum.Cards++
		r.sum.CardsByGame[string(pokemon)]++
		r.sum.Rarities[""]++
		if err := r.rejectedCard(line); err != nil {
			return err
		}
	}

	r.reject(reasonDuplicateRef, "cards.jsonl", "q4", "q4")
	r.reject(reasonNameOutOfBounds, "cards.jsonl", "q6", strings.Repeat("é", maxProductName+1))
	r.reject(reasonNameOutOfBounds, "cards.jsonl", "q7", "")
	for _, line := range []cardLine{
		{Ref: "q4", Name: "Forged Smeargle", Number: "906/102"},
		{Ref: "q6", Name: strings.Repeat("é", maxProductName+1), Number: "907/102"},
		{Ref: "q7", Number: "908/102"},
	} {
		if err := r.rejectedCard(line); err != nil {
			return err
		}
	}

	r.reject(reasonDuplicateRef, "sets.jsonl", "s0000", "s0000")
	if err := r.w.sets.line(setLine{Ref: "s0000", Game: pokemon, Name: "Kanto Classic Again"}); err != nil {
		return err
	}

	r.rejectedPrices()
	return r.rejectedSealed()
}

func (r *recorder) rejectedCard(line cardLine) error {
	line.Game = pokemon
	line.Set = "s0000"
	line.Printing = "standard"
	return r.w.cards.line(line)
}

func (r *recorder) reject(why Reason, file, ref, value string) {
	r.sum.Quarantine[why]++
	r.sum.Rejected = append(r.sum.Rejected, Rejection{why, file, ref, value})
}

// rejectedSealed writes the invalid sealed products.
func (r *recorder) rejectedSealed() error { // air: one step
	for _, k := range []struct {
		reason Reason
		value  string
		line   sealedLine
	}{
		{reasonCenterOnOnePiece, "pokemon_center", sealedLine{
			"qx1", onePiece, "Straw Crew Center Box", "booster_box",
			24, "booster_pack", "pokemon_center", nil, "",
		}},
		{reasonImpossibleValue, "0", sealedLine{
			"qx2", pokemon, "Empty Booster Box", "booster_box", 0, "booster_pack",
			"standard", nil, "",
		}},
		{reasonImpossibleValue, "tin", sealedLine{
			"qx3", pokemon, "Collector Tin", "tin", 4, "booster_pack",
			"standard", nil, "",
		}},
		{reasonNameOutOfBounds, "", sealedLine{
			"qx4", pokemon, "", "booster_box", 36, "booster_pack", "standard", nil,
			"",
		}},
		{reasonDuplicateRef, "x0000-0", sealedLine{
			"x0000-0", pokemon, "Kanto Classic Booster Box", "booster_box", 36,
			"booster_pack", "standard", nil, "",
		}},
	} {
		r.reject(k.reason, "sealed.jsonl", k.line.Ref, k.value)
		if err := r.w.sealed.line(k.line); err != nil {
			return err
		}
	}
	return nil
}

// rejectedPrices appends the invalid rows to the newest price file.
func (r *recorder) rejectedPrices() {
	now := stamp(r.w.cat.at)
	soon := stamp(r.w.cat.at.Add(1e9))
	f := r.w.prices[len(r.w.prices)-1]

	// The name of the file as in a quarantine report.
	name := "prices/" + r.sum.Day + ".csv"
	if !r.w.cat.Plain {
		name += ".zst"
	}

	for _, good := range []string{
		"q1,normal,near_mint,1500,,", "q2,normal,ungraded,900,,",
		"q3,normal,ungraded,9007199254740991,,",
	} {
		f.text(good + now + ",\n")
		r.sum.PriceRows++
		r.sum.NewestRows++
		r.sum.Unknown++
		r.sum.Lanes++
		r.sum.Points++
		r.sum.Variants["normal"]++
	}

	r.sum.Conditions["near_mint"]++
	r.sum.Conditions["ungraded"] += 2
	for _, bad := range []struct {
		reason Reason
		row    string
	}{
		{reasonAsOfAfterCollected, "q1,normal,lightly_played,1200," + soon + "," + now + ","},
		{reasonAsOfAfterCollected, "q1,holofoil,near_mint,4200," + now + "," + stamp(r.w.cat.at.Add(-1e9)) + ","},
		{reasonCollectedAfterSnapshot, "q1,normal,damaged,300," + now + "," + soon + ","},
		{reasonCollectedAfterSnapshot, "q1,normal,ungraded,800,," + soon + ",true"},
		{reasonDuplicateLane, "q2,normal,near_mint,1000,," + now + ","},
		{reasonDuplicateLane, "q2,normal,near_mint,1001,," + now + ","},
		{reasonDuplicateLane, "q2,holofoil,damaged,77,," + now + ",false"},
		{reasonDuplicateLane, "q2,holofoil,damaged,77,," + now + ",false"},
		{reasonImpossibleValue, "q3,normal,near_mint,-1,," + now + ","},
		{reasonImpossibleValue, "q3,normal,damaged,12.5,," + now + ","},
		{reasonImpossibleValue, "q3,normal,lightly_played,9007199254740992,," + now + ","},
		{reasonImpossibleValue, "q3,normal,mint,100,," + now + ","},
		{reasonImpossibleValue, "q3,holofoil,near_mint,100,yesterday," + now + ","},
		{reasonImpossibleValue, "q3,holofoil,ungraded,100,," + now + ",maybe"},
	} {
		f.text(bad.row + "\n")
		ref, _, _ := strings.Cut(bad.row, ",")
		r.reject(bad.reason, name, ref, bad.row)
	}
}
