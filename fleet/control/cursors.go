package control

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/engine/cursor"
)

const (
	// cursorKeyMaxAge is how old the newest secret gets: the next one follows it.
	cursorKeyMaxAge = 30 * 24 * time.Hour
	// cursorKeyLead is how long servers know a secret before they sign with it. Who did not reach
	// the database for so long refuses cursors of the others until it does.
	cursorKeyLead = 10 * time.Minute
)

// CursorKeys returns the secrets that sign cursors, the one to sign with first. It makes the first
// one, and one that follows when the newest is a month old; two are kept.
func (db *DB) CursorKeys(ctx context.Context) (keys []cursor.Key, err error) {
	var rows []cursorRow
	err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		rows, err = cursorRows(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}

	if keyDue(rows) {
		err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			rows, err = nextCursorKey(ctx, tx)
			return err
		})
	}
	if err != nil {
		return nil, err
	}

	// The newest signs once everybody knows it. A first one has nobody to wait for.
	if len(rows) == 2 && !rows[0].Signs {
		rows[0], rows[1] = rows[1], rows[0] // air: an exchange
	}
	for _, row := range rows {
		keys = append(keys, cursor.Key{ID: uint8(row.Number % 256), Secret: [cursor.KeyLen]byte(row.Secret)})
	}
	return keys, nil
}

// cursorRow is a stored secret.
type cursorRow struct {
	Number int64
	Secret []byte
	Due    bool // the next one is due
	Signs  bool // all servers know it
}

// keyDue reports whether a secret has to be made.
func keyDue(rows []cursorRow) bool { return len(rows) == 0 || rows[0].Due }

// cursorRows reads the secrets, the newest first.
func cursorRows(ctx context.Context, tx pgx.Tx) ([]cursorRow, error) {
	rows, _ := tx.Query(ctx, `select number, secret, made_at < now() - $1::interval, made_at < now() - $2::interval
		from ninepocket.cursor_keys order by number desc limit 2`, cursorKeyMaxAge, cursorKeyLead)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[cursorRow])
}

// nextCursorKey adds a secret where one is due, removes all but the newest two, and returns these. One
// server makes it, the others read it.
func nextCursorKey(ctx context.Context, tx pgx.Tx) ([]cursorRow, error) {
	if _, err := tx.Exec(ctx, "lock table ninepocket.cursor_keys in exclusive mode"); err != nil {
		return nil, err
	}
	rows, err := cursorRows(ctx, tx)
	if err != nil || !keyDue(rows) {
		return rows, err
	}

	var secret [cursor.KeyLen]byte
	// Never fails.
	_, _ = rand.Read(secret[:])
	_, err = tx.Exec(ctx, "insert into ninepocket.cursor_keys (secret) values ($1)", secret[:])
	if err == nil {
		_, err = tx.Exec(ctx, `delete from ninepocket.cursor_keys where number not in
			(select number from ninepocket.cursor_keys order by number desc limit 2)`)
	}
	if err != nil {
		return nil, err
	}
	return cursorRows(ctx, tx)
}
