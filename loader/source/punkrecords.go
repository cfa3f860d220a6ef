package source

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

// punkRecords is the punk-records source: english/packs.json and english/data/{pack}.json. It has
// no prices.
//
// A print's id is the printed number, with "_p1" and on for parallels and "_r1" and on for
// reprints. The id is also the Number: people type it, and it distinguishes the prints of one
// number.
type punkRecords struct {
	opts   Options
	in     folder
	prefix string // the folder that holds packs.json and data/
}

type punkPack struct {
	ID       string `json:"id"`
	RawTitle string `json:"raw_title"`
	Parts    struct {
		Label  *string `json:"label"`
		Prefix *string `json:"prefix"`
		Title  *string `json:"title"`
	} `json:"title_parts"`
}

type punkCard struct {
	ID     string `json:"id"`
	PackID string `json:"pack_id"`
	Name   string `json:"name"`
	Rarity string `json:"rarity"`
}

const punkPacks = "packs.json"

func newPunkRecords(in folder, _ string, o Options) (Source, error) {
	prefix, found, err := findOnlyFolder(in, punkPacks)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("there is no english/%s in it", punkPacks)
	}

	return &punkRecords{opts: o, in: in, prefix: prefix}, nil
}

// Feed implements Source.
func (s *punkRecords) Feed() Feed {
	return Feed{
		Namespace: KindPunkRecords, HasCatalog: true, Partner: s.opts.Partner,
		Attribution: cmp.Or(s.opts.Attribution, "Card data from punk-records"),
	}
}

// Prices implements Source: there are none.
func (s *punkRecords) Prices(context.Context, Sink) error { return nil }

// Catalog implements Source: the packs as sets, then the cards of each pack's file.
func (s *punkRecords) Catalog(ctx context.Context, to Sink) error {
	packs := map[string]bool{}
	dir := path.Join(s.prefix, "data")
	use := func(pack *punkPack, at Location) string {
		packs[pack.ID] = true
		to.Set(pack.set(at))
		return pack.ID
	}

	listed, err := readListing(ctx, s.in, path.Join(s.prefix, punkPacks), "pack", dir, to, readPacks, use)
	if err != nil {
		return err
	}

	// Cards name their pack themselves, and may name another than their file does.
	cards := jsonFiles(s.in, dir, checkPunkCard)
	cards.use = func(card *punkCard, at Location, _ string) *recordError {
		// A card of a pack that is not listed would lose its set.
		if !packs[card.PackID] {
			return &recordError{reason: ReasonBadRef, ref: card.ID, value: "pack_id " + card.PackID}
		}

		to.Card(Card{
			At: at, Ref: card.ID, Game: onePiece, SetRef: card.PackID, Name: card.Name, Number: card.ID,
			Rarity:   spaced(card.Rarity),
			Printing: printingOf(card.ID), UpdatedAt: snapshot.NoTime,
			Identifiers: []Identifier{{Namespace: KindPunkRecords, Value: card.ID}},
		})
		return nil
	}
	return cards.records(ctx, to, listed)
}

// readPacks reads the object of packs by id, in the order of the file.
func readPacks(data []byte) ([]record[punkPack], error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	var list []record[punkPack]
	err := readObject(dec, func(id string) error {
		raw, err := dec.ReadValue()
		if err != nil {
			return err
		}

		list = append(list, readElement(raw, len(list)+1, func(pack *punkPack) *recordError {
			return checkPack(id, pack)
		}))
		return nil
	})
	if err != nil {
		return nil, err
	}

	return list, readEnd(dec)
}

func checkPack(id string, pack *punkPack) *recordError {
	if !validRef(id) || strings.Contains(id, "/") || pack.ID != id {
		return &recordError{reason: ReasonBadRef, ref: id, value: pack.ID}
	}
	if pack.name() == "" {
		return &recordError{reason: ReasonMissingValue, ref: id, value: "title_parts.title"}
	}
	return nil
}

func checkPunkCard(card *punkCard) *recordError { return checkNamed(card.ID, card.Name) }

// name is the title without prefix and label. A pack with a label and no prefix has a title that
// was not distinguished ("BOOSTER PACK" of "BOOSTER PACK [OP15-EB04]"); its whole title says more.
func (p *punkPack) name() string {
	title := strings.TrimSpace(deref(p.Parts.Title))
	if raw := strings.TrimSpace(p.RawTitle); title == "" || p.Parts.Prefix == nil && p.Parts.Label != nil && raw != "" {
		return raw
	}
	return title
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// set turns a pack into a set. Its label is the code. Other sources write "OP-01" as "OP01", and
// "OP14-EB04" as "OP14", so these are aliases; the whole title is an alias, too.
func (p *punkPack) set(at Location) Set {
	set := Set{
		At: at, Ref: p.ID, Game: onePiece, Name: p.name(), Series: deref(p.Parts.Prefix), Code: deref(p.Parts.Label),
		Release: snapshot.NoDay,
	}
	if head, tail, ok := strings.Cut(set.Code, "-"); ok && head != "" && tail != "" {
		// "OP-01" is written OP01 elsewhere; of "OP14-EB04", the first part is.
		if !strings.ContainsFunc(tail, func(r rune) bool { return r < '0' || r > '9' }) {
			set.Aliases = append(set.Aliases, head+tail)
		} else {
			set.Aliases = append(set.Aliases, head)
		}
	}

	if raw := strings.TrimSpace(p.RawTitle); raw != "" && raw != set.Name {
		set.Aliases = append(set.Aliases, raw)
	}

	return set
}

// printingOf names the print of a number that a card is, from the tail of its id; "" for the first.
func printingOf(id string) string {
	_, tail, _ := strings.Cut(id, "_")
	if len(tail) < 2 || strings.Trim(tail[1:], "0123456789") != "" {
		return ""
	}

	switch tail[0] {
	case 'p':
		return "Parallel " + tail[1:]
	case 'r':
		return "Reprint " + tail[1:]
	default:
		return ""
	}
}
