package guard

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ninepocket/snapshot"
)

// shown is how many names a text lists.
const shown = 5

// join lists the first of some names and counts the rest.
func join(names []string) string {
	if more := len(names) - shown; more > 0 {
		return strings.Join(names[:shown], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

// duplicateKeys counts identities that two records claim: indistinguishable cards, and records that
// the build quarantined because another record has their key. Those of the current snapshot are
// known and stay.
func (d *comparison) duplicateKeys() finding {
	twins := d.newTwins()
	n := len(twins)
	var found []string
	if n > 0 {
		found = append(found, fmt.Sprintf("%d cards have the set, number, name and printing of another one: %s", n,
			join(twins)))
	}

	for _, reason := range d.Duplicates {
		// Records that a build refused for the same reason claim an identity, too.
		if more := d.next.Manifest.Quarantine[reason] - d.current.Manifest.Quarantine[reason]; more > 0 {
			n += more
			found = append(found, fmt.Sprintf("%d more records are quarantined as %s", more, reason))
		}
	}

	if n == 0 {
		found = []string{"no identity is claimed twice that was not before"}
	}

	return judged(float64(n), "%s", strings.Join(found, "; "))
}

// identity is the part of a card that distinguishes it from others.
type identity struct{ set, name, number, printing string }

// newTwins names the cards whose identity another card has, too, if the current snapshot has
// fewer of them.
func (d *comparison) newTwins() []string {
	before := identities(d.current.Catalog)
	after := identities(d.next.Catalog)
	var names []string
	for k, ids := range after {
		// One card may have an identity; twins that were there before are no news.
		for range len(ids) - max(1, len(before[k])) {
			names = append(names, fmt.Sprintf("%q %s (%s)", k.name, k.number, strings.Join(ids, " and ")))
		}
	}

	slices.Sort(names)
	return names
}

// identities maps identities to the cards that claim them.
func identities(c *snapshot.Catalog) map[identity][]string {
	m := make(map[identity][]string, c.Cards.ID.Len())
	for i := range c.Cards.ID.Len() {
		// A product that a shop lists again under another id stands next to the earlier product.
		if c.UnlistedSince(i) != snapshot.NoDay {
			continue
		}
		k := identity{setOf(c, i), c.Cards.Name.At(i), c.Cards.Number.At(i), c.Cards.Printing.At(i)}
		// Energies and promos without a number have equal names.
		if k.set != "" && k.number != "" {
			m[k] = append(m[k], c.Cards.ID.At(i))
		}
	}

	return m
}

// repeated reports whether a later snapshot shows nothing new at all: no card, set or product, and
// of the prices that can be compared not one is another.
func (d *comparison) repeated() bool {
	prices := d.diff.Prices
	return d.next.Manifest.SnapshotAt.After(d.current.Manifest.SnapshotAt) && prices.Compared >= minSame &&
		prices.Changed+prices.Appeared+prices.Disappeared == 0 && d.changed == 0 &&
		!d.diff.Cards.Any() && !d.diff.Sets.Any() && !d.diff.Sealed.Any()
}

// The forms of what is published (docs/API.md, Product; decision 25).
var (
	cardID = regexp.MustCompile(`^card_[a-z0-9_]{3,64}$`)
	setID  = regexp.MustCompile(`^set_[a-z0-9_]{3,64}$`)
	tail   = regexp.MustCompile(`^[a-z0-9_]{3,64}$`)
	slug   = regexp.MustCompile(`^[a-z0-9-]{1,200}$`)
)

// schema counts records that break a bound of the published formats.
func (d *comparison) schema() finding {
	c := d.next.Catalog
	var broken []string
	check := func(ok bool, what, id string) {
		if !ok {
			broken = append(broken, what+" of "+id)
		}
	}

	for i := range c.Sets.ID.Len() {
		id := c.Sets.ID.At(i)
		check(setID.MatchString(id), "id", id)
		check(slug.MatchString(c.Sets.Slug.At(i)), "slug", id)
		check(validText(c.Sets.Name.At(i), snapshot.MaxName), "name", id)
	}

	for i := range c.Cards.ID.Len() {
		id := c.Cards.ID.At(i)
		check(cardID.MatchString(id), "id", id)
		check(slug.MatchString(c.Cards.Slug.At(i)), "slug", id)
		check(validText(c.Cards.Name.At(i), snapshot.MaxName), "name", id)
		check(c.Cards.Number.At(i) == "" || validText(c.Cards.Number.At(i), snapshot.MaxNumber), "number", id)
		check(c.Cards.Product[i] == 0 || c.Cards.Set[i] != snapshot.NoSet && c.Cards.Number.At(i) != "" &&
			validText(c.Cards.Printing.At(i), snapshot.MaxPrinting),
			"product identity", id)
	}

	for i := range c.Sealed.Tail.Len() {
		id := c.Sealed.Tail.At(i)
		check(tail.MatchString(id), "id", id)
		check(validText(c.Sealed.Name.At(i), snapshot.MaxName), "name", id)
		check(c.Sealed.Units[i] >= 1, "units", id)
	}

	l := &c.Lanes
	for i, cents := range l.Cents {
		if cents != snapshot.NoCents {
			check(l.CollectedAt[i] <= c.SnapshotAt && l.SourceAsOf[i] <= l.CollectedAt[i], "times",
				fmt.Sprintf("lane %d", i))
		}
	}

	if n := len(broken); n > 0 {
		return judged(float64(n), "%d records break a bound: %s", n, join(broken))
	}
	return judged(0, "every record keeps the bounds")
}

// validText reports whether text is 1 to most code points without control characters.
func validText(s string, limit int) bool {
	n := utf8.RuneCountInString(s)
	return n >= 1 && n <= limit && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}
