package main

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"ninepocket-compare/cards"
)

// store reads from PostgreSQL, with one query per request, prepared by pgx on every connection.
type store struct{ pool *pgxpool.Pool }

const head = `c.id, c.name, c.number, c.game, c.game_name, c.rarity, c.set_id, c.set_name, c.url`

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

const laneColumns = `, p.variant, p.condition, p.cents, p.updated_at, p.change7, p.percent7, p.change30, p.percent30`

// details reads cards joined with their prices.
func (s *store) details(ctx context.Context, sql string, argument any) ([]cards.Detail, error) {
	rows, err := s.pool.Query(ctx, sql, argument)
	if err != nil {
		return nil, err
	}
	defer rows.Close()

	var out []cards.Detail
	for rows.Next() {
		var h cards.Head
		var l struct {
			variant, condition, at *string
			lane                   cards.Lane
		}

		into, finish := headInto(&h)
		into = append(into, &l.variant, &l.condition, &l.lane.Cents, &l.at, &l.lane.Change7, &l.lane.Percent7,
			&l.lane.Change30, &l.lane.Percent30)
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		if n := len(out); n == 0 || out[n-1].ID != h.ID {
			finish()
			out = append(out, cards.Detail{Head: h, Prices: []cards.Lane{}})
		}
		if l.variant != nil {
			l.lane.Variant = *l.variant
			l.lane.Condition = *l.condition
			l.lane.UpdatedAt = *l.at
			l.lane.Currency = "USD"
			last := &out[len(out)-1]
			last.Prices = append(last.Prices, l.lane)
		}
	}
	return out, rows.Err()
}

func (s *store) Card(ctx context.Context, ref string) (*cards.Detail, error) {
	found, err := s.details(ctx,
		`SELECT `+head+laneColumns+` FROM cards c LEFT JOIN prices p ON p.card_id = c.id WHERE c.id = $1 ORDER BY p.position`, ref) // air: one text
	if err == nil && len(found) == 0 {
		found, err = s.details(ctx,
			`SELECT `+head+laneColumns+` FROM cards c LEFT JOIN prices p ON p.card_id = c.id WHERE c.slug = $1 ORDER BY p.position`, ref) // air: one text
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
	found, err := s.details(ctx,
		`SELECT `+head+laneColumns+` FROM cards c LEFT JOIN prices p ON p.card_id = c.id WHERE c.id = ANY($1) ORDER BY c.id, p.position`, ids) // air: one text
	return cards.InOrder(ids, found, func(d *cards.Detail) string { return d.ID }), err
}

func (s *store) Prices(ctx context.Context, ids []string) ([]cards.Entry, error) {
	rows, err := s.pool.Query(ctx, `SELECT id, cents, price_at FROM cards WHERE id = ANY($1)`, ids)
	if err != nil {
		return nil, err
	}

	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (cards.Entry, error) {
		e := cards.Entry{Price: cards.Price{Currency: "USD"}}
		return e, row.Scan(&e.ID, &e.Cents, &e.UpdatedAt)
	})
	return cards.InOrder(ids, found, func(e *cards.Entry) string { return e.ID }), err
}

const summary = `SELECT ` + head + `, c.cents, c.price_at FROM cards c `

// byWords finds cards with a part of their words similar to the query, the most similar first. The
// operator <% uses the GIN index.
const byWords = summary + `WHERE $1 <% words AND ($2 = '' OR game = $2)
ORDER BY (folded = $1) DESC, word_similarity($1, words) DESC, similarity($1, folded) DESC, rank LIMIT $3`

func (s *store) Search(ctx context.Context, q cards.Query) ([]cards.Summary, error) {
	var rows pgx.Rows
	var err error
	switch {
	case q.Words != "":
		rows, err = s.pool.Query(ctx, byWords, q.Words, q.Game, q.Limit)
	case q.Sort == "price_asc":
		rows, err = s.pool.Query(ctx, summary+`WHERE cents BETWEEN $1 AND $2 ORDER BY cents, rank LIMIT $3`, q.Min,
			q.Max, q.Limit)
	default:
		rows, err = s.pool.Query(ctx, summary+`WHERE cents BETWEEN $1 AND $2 ORDER BY cents DESC, rank LIMIT $3`,
			q.Min, q.Max, q.Limit)
	}

	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (cards.Summary, error) {
		out := cards.Summary{Price: cards.Price{Currency: "USD"}}
		into, finish := headInto(&out.Head)
		err := row.Scan(append(into, &out.Price.Cents, &out.Price.UpdatedAt)...)
		finish()
		return out, err
	})
}
