package loader

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// printingStandard is the printing of a card whose source and name give none (decision 27).
const printingStandard = "standard"

// sealedAttrs are the attributes that define a sealed product; an operator may know them too
// (--mapping, sealed.csv).
type sealedAttrs struct {
	packageType, unitKind, edition string
	units                          int
}

// withDefaults completes facts by others.
func (s sealedAttrs) withDefaults(other sealedAttrs) sealedAttrs {
	return sealedAttrs{
		packageType: cmp.Or(s.packageType, other.packageType), unitKind: cmp.Or(s.unitKind, other.unitKind),
		edition: cmp.Or(s.edition, other.edition), units: cmp.Or(s.units, other.units),
	}
}

// invalid explains why a sealed product of a game cannot have its record's attributes, "" if it
// can. Absent values are possible. A nil game is unknown, and then the edition may be any game's.
func (s sealedAttrs) invalid(game *snapshot.Game) (reason, value string) {
	switch {
	case s.packageType != "" && !slices.Contains(source.PackageTypes, s.packageType):
		return source.ReasonBadPackage, s.packageType
	case s.unitKind != "" && !slices.Contains(source.UnitKinds, s.unitKind):
		return source.ReasonBadPackage, s.unitKind
	case s.edition != "" && !snapshot.IsEdition(s.edition):
		return source.ReasonBadEdition, s.edition
	case s.units < 0 || s.units > source.MaxUnits:
		return source.ReasonBadUnits, strconv.Itoa(s.units)
	case s.edition != "" && game != nil && !game.HasEdition(s.edition):
		return source.ReasonEditionOfGame, s.edition
	}

	return "", ""
}

// bracketed is a qualifier of a name.
var bracketed = regexp.MustCompile(`\s*[(\[]([^()\[\]]*)[)\]]`)

// verifySealed completes a sealed product from the operator's mapping and names its missing attribute: ""
// for a verified product (decision 27). The mapping takes precedence over the source, whose rules for names
// are separate. The unit kind follows from the package type; nothing else is guessed.
func (s *sealed) verifySealed(facts sealedAttrs) (lacks string) {
	s.sealedAttrs = facts.withDefaults(s.sealedAttrs)
	switch {
	case s.packageType == "":
		return "package_type"
	case s.units == 0:
		return "units_per_package"
	case s.edition == "":
		return "edition"
	case s.unitKind == "" && s.packageType == source.BoosterCase:
		s.unitKind = source.BoosterBox
	case s.unitKind == "":
		s.unitKind = source.BoosterPack
	}

	return ""
}

// verifyCard fills the printing of a card and names the part that a verified identity lacks: ""
// for none.
func (c *card) verifyCard() (lacks string) {
	if c.printing == "" {
		c.printing = printingOf(c.name, c.number)
	}

	// A card carried over from a base may have been a product there.
	c.product = c.set >= 0 && c.number != ""
	switch {
	case c.set < 0:
		return "set"
	case c.number == "":
		return "collector_number"
	}
	return ""
}

// printingOf is the printing that a name gives: its bracketed qualifiers, without those that only
// repeat the number.
func printingOf(name, number string) string {
	if !strings.ContainsAny(name, "([") {
		return printingStandard
	}

	var parts []string
	for _, at := range bracketed.FindAllStringSubmatchIndex(name, -1) {
		q := strings.TrimSpace(name[at[2]:at[3]])
		// A bracket without a space before it belongs to the name: "Mr.1(Daz.Bonez)".
		if open := name[at[2]-1 : at[2]]; q == "" || isNumberOf(q, number) || at[0] > 0 &&
			name[at[0]:at[2]] == open && name[at[0]-1] != ')' && name[at[0]-1] != ']' {
			continue
		}
		parts = append(parts, q)
	}

	// Longer text loses its last qualifiers.
	out := strings.Join(parts, ", ")
	for utf8.RuneCountInString(out) > snapshot.MaxPrinting {
		parts = parts[:len(parts)-1]
		out = strings.Join(parts, ", ")
	}

	return cmp.Or(out, printingStandard)
}

// isNumberOf reports whether a qualifier is the card's own number or its last digits, as in "Nami
// (016)" of OP01-016.
func isNumberOf(q, number string) bool {
	if strings.Trim(q, "0123456789") != "" {
		return strings.EqualFold(q, number)
	}
	printed, _, _ := strings.Cut(number, "/")
	digits := printed[strings.LastIndexAny(printed, "-ABCDEFGHIJKLMNOPQRSTUVWXYZ ")+1:]
	return strings.TrimLeft(q, "0") == strings.TrimLeft(digits, "0")
}

// verify decides which identities are products (decision 27). Sealed products that are not leave
// the catalog.
func (b *builder) verify(m *merged) {
	for i := range m.cards {
		if lacks := m.cards[i].verifyCard(); lacks != "" {
			b.report.CardsUnverified[lacks]++
		}
	}

	valid := m.sealed[:0]
	for _, sealed := range m.sealed {
		// A product that lacks a fact leaves the catalog: nothing is guessed.
		lacks := sealed.verifySealed(b.mapping.sealedOf(sealed.refs))
		if lacks == "" {
			if reason, value := sealed.invalid(&snapshot.Games[sealed.game]); reason != "" {
				_, ref := splitRef(sealed.refs[0])
				b.quarantine.Refuse(source.Location{File: sealedFile}, reason, ref, value)
				lacks = reason
			}
		}

		if lacks != "" {
			b.report.SealedLeftOut[lacks]++
			if b.onRemoved != nil {
				b.onRemoved(&sealed, lacks)
			}
			b.drop(sealed.refs)
			continue
		}

		valid = append(valid, sealed)
	}

	m.sealed = valid
}
