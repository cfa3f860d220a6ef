package loader

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ninepocket/loader/source"
	"ninepocket/snapshot"
)

// Suggestions are the results of Suggest.
type Suggestions struct {
	// Rows are proposed rows of sealed.csv: the attributes that the rules for names find in a
	// sealed product, and the usual number of packs. Feeds do not have that number.
	Rows [][]string
	Open int // rows whose number of packs a person must look up
	// Aliases are rows of aliases.csv, likewise. They are sets of one source that another seems to have
	// under another name, and cards that their source lists under another reference than the base has.
	Aliases [][]string
	// Unknown counts the sealed products without a matching rule, by their missing attribute.
	Unknown map[string]int
	// Unmatched counts the sets of later sources that are like no set of an earlier one.
	Unmatched int
}

// Suggest reads the catalogs of a build and proposes missing mapping rows, in the order of the
// inputs.
func Suggest(ctx context.Context, o Options) (*Suggestions, error) {
	b, err := newBuilder(o, source.Open)
	if err != nil {
		return nil, err
	}
	return b.suggest(ctx)
}

func (b *builder) suggest(ctx context.Context) (*Suggestions, error) {
	sources, err := b.openAll(b.o.Sources)
	if err != nil {
		return nil, err
	}

	out := &Suggestions{Unknown: map[string]int{}}
	var left []sealed
	b.onRemoved = func(sealed *sealed, lacks string) {
		if lacks == "units_per_package" {
			left = append(left, *sealed)
		} else {
			out.Unknown[lacks]++
		}
	}
	var apart []unmatchedSet
	b.onUnmatched = func(set unmatchedSet) { apart = append(apart, set) }
	if err := b.readCatalogs(ctx, sources); err != nil {
		return nil, err
	}
	out.Aliases, out.Unmatched = b.aliasesOf(apart)
	for _, pair := range b.report.Relisted {
		out.Aliases = append(out.Aliases, append(strings.Split(pair.Row, ","), pair.Name, "",
			"the second reference is no longer listed, and the first has its set, number and name"))
	}

	sets := b.merged.setsByRef()
	for i := range left {
		name := ""
		if set, known := sets[left[i].group]; known {
			name = b.merged.sets[set].name
		}
		out.suggest(&left[i], name)
	}
	return out, nil
}

// suggest adds the row of a sealed product of a set.
func (s *Suggestions) suggest(product *sealed, set string) {
	game := snapshot.Games[product.game].Slug
	n, reason := usualUnits(game, product.packageType, product.edition, set, product.name)
	// A row without a reason could not be reviewed.
	if reason == "" {
		s.Unknown["units_per_package"]++
		return
	}

	unit := cmp.Or(product.unitKind, source.BoosterPack)
	if product.packageType == source.BoosterCase {
		unit = source.BoosterBox
	}
	units := ""
	if n > 0 {
		units = strconv.Itoa(n)
	} else {
		s.Open++
	}
	namespace, ref := splitRef(product.refs[0])
	s.Rows = append(s.Rows, []string{
		namespace, ref, product.packageType, units, unit, product.edition, product.name, set, reason,
	})
}

// specialSets are Pokémon sets that came without booster boxes and whose Elite Trainer Boxes hold
// ten packs.
var specialSets = []string{
	"Shining Legends", "Dragon Majesty", "Hidden Fates", "Champion's Path", "Shining Fates", "Pokemon GO",
	"Crown Zenith", "Generations",
}

// usualUnits is the usual number of packs in a package of its kind and time, and the rule in words for
// the reviewer. It is 0 with a reason if a person must look, 0 without a reason if no rule applies.
func usualUnits(game, kind, edition, set, name string) (n int, reason string) {
	premium := strings.HasPrefix(set, "Premium Booster")
	switch {
	case game == "one-piece" && kind == source.BoosterBox && premium:
		return 20, "a box of One Piece premium boosters usually holds 20 packs"
	case game == "one-piece" && kind == source.BoosterBox:
		return 24, "a One Piece booster box usually holds 24 packs"
	case game == "one-piece" && kind == source.BoosterCase && premium:
		return 0, "look it up: a case of premium boosters need not hold as many boxes as others"
	case game == "one-piece" && kind == source.BoosterCase:
		return 12, "a One Piece case usually holds 12 boxes"
	case game != "pokemon":
		return 0, ""
	}

	switch {
	case kind == source.BoosterBox:
		return 36, "an English Pokémon booster box usually holds 36 packs"
	case kind == source.BoosterCase:
		return 6, "an English Pokémon case usually holds 6 boxes"
	case strings.Contains(set, "Celebration"):
		return 0, "look it up: packages of an anniversary's set hold other packs, and of several sets"
	case kind == source.BoosterBundle:
		return 6, "a Pokémon booster bundle usually holds 6 packs"
	case kind == source.EliteTrainerBox:
		return usualPacks(edition, set, name)
	}
	return 0, ""
}

// usualPacks is usualUnits of an Elite Trainer Box.
func usualPacks(edition, set, name string) (n int, reason string) {
	center := edition != "" && edition != snapshot.StandardEdition
	newer := strings.HasPrefix(set, "SV") || strings.HasPrefix(set, "ME")
	switch {
	case strings.Contains(name, "Elite Trainer Box Plus"):
		return 0, "look it up: boxes that are called Plus hold different numbers of packs"
	case !center && strings.Contains(name, "Exclusive"):
		return 0, "look it up: a box made for one shop need not hold what others do"
	}

	switch {
	case newer && center:
		return 11, "a Pokémon Center Elite Trainer Box since Scarlet & Violet usually holds 11 packs"
	case newer:
		return 9, "an Elite Trainer Box since Scarlet & Violet usually holds 9 packs"
	case center && strings.HasPrefix(set, "SWSH"):
		return 10, "a Pokémon Center Elite Trainer Box of Sword & Shield usually holds 10 packs"
	case center:
		return 0, "look it up: early Pokémon Center boxes hold different numbers of packs"
	case slices.Contains(specialSets, strings.TrimPrefix(set, "SWSH: ")):
		return 10, "an Elite Trainer Box of a special set usually holds 10 packs: look twice"
	}
	return 8, "an Elite Trainer Box before Scarlet & Violet usually holds 8 packs"
}

// reviewColumns may follow the columns of sealed.csv; they are for people.
var reviewColumns = []string{"name", "set", "reason"}

// Write writes suggestions as sealed.csv, which a build takes by --mapping.
func (s *Suggestions) Write(w io.Writer) error {
	return writeRows(w, sealedHeader, s.Rows)
}

// WriteAliases writes proposed aliases as aliases.csv, which a build takes by --mapping.
func (s *Suggestions) WriteAliases(w io.Writer) error { return writeRows(w, aliasesHeader, s.Aliases) }

func writeRows(w io.Writer, header []string, rows [][]string) error {
	header = slices.Concat(header, reviewColumns)
	return csv.NewWriter(w).WriteAll(slices.Concat([][]string{header}, rows))
}

// minShared is the number of common cards from which two sets are proposed to be one.
const minShared = 3

// unmatchedSet is a set of a later source that no earlier one has, with its cards as contents has them.
type unmatchedSet struct {
	*set
	cards map[string]bool
}

// aliasesOf proposes the earlier source's set that has the most cards in common with each set that stayed
// apart. A merge requires that most of either set agree; a proposal requires more than a fifth of the
// smaller set. A set is proposed once: if a source has it as two halves, the other half gets no proposal.
func (b *builder) aliasesOf(apart []unmatchedSet) (rows [][]string, unknown int) {
	have := contents(b.merged.cards, func(int32) bool { return true })
	best := make([]bestMatch, len(apart))
	back := map[int32]bestMatch{}
	for i, a := range apart {
		namespace, _ := splitRef(a.refs[0])
		for set, cards := range have {
			other := &b.merged.sets[set]
			shared := sharedCards(a.cards, cards)
			if other.game == a.game && refIn(other.refs, namespace) == "" && shared > 0 {
				best[i] = best[i].against(set, shared)
			}
		}
		// Two later sets may be like one earlier set, which is proposed to the likelier one alone.
		back[best[i].set] = back[best[i].set].against(int32(i), best[i].n)
	}

	for i, a := range apart {
		to := best[i]
		size := len(have[to.set])
		if to.tied || to.n < minShared || to.n*5 <= min(len(a.cards), size) || back[to.set].tied ||
			back[to.set].set != int32(i) {
			unknown++
			continue
		}

		namespace, ref := splitRef(a.refs[0])
		other := &b.merged.sets[to.set]
		toNamespace, toRef := splitRef(other.refs[0])
		rows = append(rows, []string{
			aliasSet, namespace, ref, toNamespace, toRef, a.name, other.name,
			fmt.Sprintf("%d of its %d cards have a number and a name of the other, which has %d: look twice", to.n,
				len(a.cards), size),
		})
	}
	return rows, unknown
}

func sharedCards(a, b map[string]bool) (n int) {
	for key := range a {
		if b[key] {
			n++
		}
	}
	return n
}
