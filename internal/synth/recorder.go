package synth

import "slices"

// Summarize writes the catalog as Write does and returns a summary.
func Summarize(dir string, o Options) (Summary, error) {
	recorder := &recorder{sum: newSummary(), seen: newSeen()}
	if err := writeCatalog(dir, o, recorder); err != nil {
		return Summary{}, err
	}
	return recorder.sum, nil
}

// summarizeDay writes the catalog as WriteDay does and returns a summary.
func summarizeDay(dir string, o Options, day int) (Summary, error) {
	return Summarize(dir, onlyDay(o, day))
}

// recorder makes the summary of the rows of a writer, and plants the rows to be quarantined. A
// program that only writes does not link it.
type recorder struct {
	w    *writer
	sum  Summary
	seen seen
}

func (r *recorder) begin(w *writer) {
	r.w = w
	r.sum.SnapshotAt = w.cat.at
	r.sum.Day = w.date(w.cat.Day)
}

func (r *recorder) end() error {
	if r.w.cat.PlantQuarantine {
		return r.writeRejected()
	}
	return nil
}

func (r *recorder) set(s *set) {
	if day := r.w.cat.Day; day > 0 && r.w.cat.edits.renamedSets[s.index] == day {
		r.sum.RenamedSets = append(r.sum.RenamedSets, s.ref)
	}
	r.sum.Sets++
	r.sum.SetsByGame[string(s.game)]++
	r.recordSet(s)
}

func (r *recorder) removed(ref string) { r.sum.Removed = append(r.sum.Removed, ref) }

func (r *recorder) card(k *card) {
	day := r.w.cat.Day
	if day > 0 && r.w.cat.bornOn(k.ordinal) == day {
		r.sum.Added = append(r.sum.Added, k.ref)
	}
	if renamed, ok := r.w.cat.edits.renamed[k.ordinal]; ok && renamed == day {
		r.sum.Renamed = append(r.sum.Renamed, k.ref)
	}

	r.sum.Cards++
	r.sum.CardsByGame[string(k.set.game)]++
	r.sum.Rarities[k.rarity]++
	r.recordCard(k)
}

func (r *recorder) sealed(sealed *sealed) {
	r.sum.Sealed++
	r.sum.PackageTypes[sealed.pack.packageType]++
	r.sum.UnitKinds[sealed.pack.unitKind]++
	r.sum.Editions[sealed.pack.edition]++
	if partner := partnerOf(sealed.ids); partner != "" && r.seen.partners[partner] {
		r.sum.addCase(caseSealedSharedPartner, Lane{Ref: sealed.ref})
	}
}

func (r *recorder) lane(ref string, l *lane) {
	r.sum.Lanes++
	// A sealed product has neither variant nor condition.
	if l.variant == "" {
		r.sum.SealedLanes++
	} else {
		r.sum.Variants[l.variant]++
		r.sum.Conditions[l.condition]++
	}

	r.countRows()
	r.recordDays(l, r.w.series, Lane{ref, l.variant, l.condition})
}

// countRows counts the rows and prices of the current lane.
func (r *recorder) countRows() {
	hasRow := func(cents int64) bool { return cents != centsNoRow }
	// Days of history share one row of a wide file; each price file has one row.
	past, newest := r.w.series[:r.w.past], r.w.series[r.w.past:] // air: a pair
	if slices.ContainsFunc(past, hasRow) {
		r.sum.HistoryRows++
	}

	for _, cents := range newest {
		if hasRow(cents) {
			r.sum.PriceRows++
		}
	}

	last := int64(centsNoRow)
	for _, cents := range r.w.series {
		if cents >= 0 {
			r.sum.Points++
		}
		if cents >= 0 && last >= 0 {
			r.sum.Pairs++
			if cents != last {
				r.sum.Changes++
			}
		}
		last = cents
	}
}
