package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"

	"ninepocket-compare/cards"
)

// store reads from SQLite with statements that are prepared once.
type store struct {
	byID, bySlug, many, prices, match, ascending, descending *sql.Stmt
}

const (
	head        = `c.id, c.name, c.number, c.game, c.game_name, c.rarity, c.set_id, c.set_name, c.url`
	laneColumns = `, p.variant, p.condition, p.cents, p.updated_at, p.change7, p.percent7, p.change30, p.percent30`
	withPrices  = `SELECT ` + head + laneColumns + ` FROM cards c LEFT JOIN prices p ON p.card = c.rank `
	summary     = `SELECT ` + head + `, c.cents, c.price_at, c.folded FROM `
)

func newStore(db *sql.DB) (*store, error) { // air: one step
	s := &store{}
	for _, one := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&s.byID, withPrices + `WHERE c.id = ? ORDER BY p.position`},
		{&s.bySlug, withPrices + `WHERE c.slug = ? ORDER BY p.position`},
		{&s.many, withPrices + `WHERE c.id IN (SELECT value FROM json_each(?)) ORDER BY c.rank, p.position`},
		{&s.prices, `SELECT id, cents, price_at FROM cards WHERE id IN (SELECT value FROM json_each(?))`},
		// A name counts ten times as much as a set; among equals the most expensive is first.
		{&s.match, summary + `words w JOIN cards c ON c.rank = w.rowid WHERE words MATCH ?1 AND (?2 = '' OR c.game = ?2)
			ORDER BY (c.folded = ?3) DESC, bm25(words, 10, 5, 1), c.rank LIMIT ?4`},
		{&s.ascending, summary + `cards c WHERE c.cents BETWEEN ? AND ? ORDER BY c.cents, c.rank LIMIT ?`},
		{&s.descending, summary + `cards c WHERE c.cents BETWEEN ? AND ? ORDER BY c.cents DESC, c.rank LIMIT ?`},
	} {
		var err error
		*one.to, err = db.Prepare(one.text)
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

// headInto returns the scan targets of a row's head, and a function that completes the head.
func headInto(h *cards.Head) (into []any, finish func()) {
	var setID, setName *string
	into = []any{&h.ID, &h.Name, &h.Number, &h.Game, &h.GameName, &h.Rarity, &setID, &setName, &h.URL}
	return into, func() {
		if setID != nil {
			h.Set = &cards.Set{ID: *setID, Name: *setName}
		}
	}
}

func details(ctx context.Context, statement *sql.Stmt, argument string) ([]cards.Detail, error) {
	rows, err := statement.QueryContext(ctx, argument)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var out []cards.Detail
	for rows.Next() {
		var h cards.Head
		var variant, condition, at *string
		var lane cards.Lane
		into, finish := headInto(&h)
		into = append(into, &variant, &condition, &lane.Cents, &at, &lane.Change7, &lane.Percent7, &lane.Change30,
			&lane.Percent30)
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].ID != h.ID {
			finish()
			out = append(out, cards.Detail{Head: h, Prices: []cards.Lane{}})
		}
		if variant != nil {
			lane.Variant = *variant
			lane.Condition = *condition
			lane.UpdatedAt = *at
			lane.Currency = "USD"
			last := &out[len(out)-1]
			last.Prices = append(last.Prices, lane)
		}
	}
	return out, rows.Err()
}

func (s *store) Card(ctx context.Context, ref string) (*cards.Detail, error) {
	found, err := details(ctx, s.byID, ref)
	if err == nil && len(found) == 0 {
		found, err = details(ctx, s.bySlug, ref)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, cards.ErrNotFound
	}
	return &found[0], nil
}

func (s *store) Details(ctx context.Context, ids []string) ([]cards.Detail, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found, err := details(ctx, s.many, string(list))
	return cards.InOrder(ids, found, func(d *cards.Detail) string { return d.ID }), err
}

func (s *store) Prices(ctx context.Context, ids []string) ([]cards.Entry, error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}

	rows, err := s.prices.QueryContext(ctx, string(list))
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var found []cards.Entry
	for rows.Next() {
		e := cards.Entry{Price: cards.Price{Currency: "USD"}}
		if err := rows.Scan(&e.ID, &e.Cents, &e.UpdatedAt); err != nil {
			return nil, err
		}
		found = append(found, e)
	}
	return cards.InOrder(ids, found, func(e *cards.Entry) string { return e.ID }), rows.Err()
}

// hit is a summary with its folded name, which decides its rank.
type hit struct {
	cards.Summary
	folded string
}

func (s *store) Search(ctx context.Context, q cards.Query) ([]cards.Summary, error) {
	switch {
	case q.Words == "" && q.Sort == "price_asc":
		return summaries(s.read(ctx, s.ascending, q.Min, q.Max, q.Limit))
	case q.Words == "":
		return summaries(s.read(ctx, s.descending, q.Min, q.Max, q.Limit))
	}

	if byWords() {
		return s.searchWords(ctx, q)
	}
	if all := allWords(q.Words); all != "" {
		found, err := s.read(ctx, s.match, all, q.Game, q.Words, q.Limit)
		if err != nil || len(found) > 0 {
			return summaries(found, err)
		}
	}
	return s.fuzzy(ctx, q)
}

// searchWords searches for all words, the last one as a prefix; if no card has all, for any of
// them.
func (s *store) searchWords(ctx context.Context, q cards.Query) ([]cards.Summary, error) {
	var parts []string
	for _, word := range strings.Fields(q.Words) {
		parts = append(parts, `"`+word+`"`)
	}
	if len(parts) == 0 {
		return nil, nil
	}

	parts[len(parts)-1] += "*"
	found, err := s.read(ctx, s.match, strings.Join(parts, " AND "), q.Game, q.Words, q.Limit)
	if err != nil || len(found) > 0 {
		return summaries(found, err)
	}
	return summaries(s.read(ctx, s.match, strings.Join(parts, " OR "), q.Game, q.Words, q.Limit))
}

// allWords returns a query for every word of three letters or more as a part of a card's words.
func allWords(folded string) string {
	var parts []string
	for _, word := range strings.Fields(folded) {
		if len([]rune(word)) >= 3 {
			parts = append(parts, `"`+word+`"`)
		}
	}
	return strings.Join(parts, " AND ")
}

// fuzzy searches for trigrams if no card has all words of the query: it takes the best by bm25 and
// ranks them by similarity of the name.
func (s *store) fuzzy(ctx context.Context, q cards.Query) ([]cards.Summary, error) {
	wanted := trigrams(q.Words)
	if len(wanted) == 0 {
		return nil, nil
	}

	var parts []string
	for gram := range wanted {
		if !strings.Contains(gram, " ") {
			parts = append(parts, `"`+gram+`"`)
		}
	}

	if len(parts) == 0 {
		return nil, nil
	}
	found, err := s.read(ctx, s.match, strings.Join(parts, " OR "), q.Game, q.Words, candidates)
	if err != nil {
		return nil, err
	}
	return summaries(rankBySimilarity(found, wanted, q.Limit), nil)
}

func (s *store) read(ctx context.Context, statement *sql.Stmt, arguments ...any) ([]hit, error) {
	rows, err := statement.QueryContext(ctx, arguments...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var out []hit
	for rows.Next() {
		h := hit{Summary: cards.Summary{Price: cards.Price{Currency: "USD"}}}
		into, finish := headInto(&h.Head)
		if err := rows.Scan(append(into, &h.Price.Cents, &h.Price.UpdatedAt, &h.folded)...); err != nil {
			return nil, err
		}

		finish()
		out = append(out, h)
	}
	return out, rows.Err()
}

func summaries(hits []hit, err error) ([]cards.Summary, error) {
	var out []cards.Summary
	for i := range hits {
		out = append(out, hits[i].Summary)
	}
	return out, err
}
