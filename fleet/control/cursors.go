package control

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/engine/cursor"
)

const (
	// cursorKeyMaxAge is the age of the newest secret at which the next one is made.
	cursorKeyMaxAge = 30 * 24 * time.Hour
	// cursorKeyLead is how long servers know a secret before they sign with it. A server that cannot
	// reach the database for longer refuses cursors of other servers until it can.
	cursorKeyLead = 10 * time.Minute
	// machineCursorKeyNumber is the number that a single machine gives to its cursor secret.
	machineCursorKeyNumber = 1
)

// errOtherNumber rolls back an insertion that got another number.
var errOtherNumber = errors.New("the first secret has another number")

// CursorKeys returns the secrets that sign cursors, the one to sign with first. It makes the first
// secret, and the next one when the newest is a month old; the newest two are stored.
func (db *DB) CursorKeys(ctx context.Context) (keys []cursor.Key, err error) {
	var rows []cursorRow
	err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		rows, err = cursorRows(ctx, tx)
		return err
	})
	if err == nil && keyDue(rows) {
		err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
			rows, err = nextCursorKey(ctx, tx)
			return err
		})
	}
	if err != nil {
		return nil, err
	}

	// The newest secret signs as soon as all servers know it. The first secret signs at once.
	if len(rows) == 2 && !rows[0].Signs {
		rows[0], rows[1] = rows[1], rows[0] // air: an exchange
	}
	for _, row := range rows {
		keys = append(keys, cursor.Key{ID: uint8(row.Number % 256), Secret: [cursor.KeyLen]byte(row.Secret)})
	}
	return keys, nil
}

// cursorRow is a stored secret, with its columns in the order of the query.
type cursorRow struct {
	Number int64
	Secret []byte
	Due    bool // older than cursorKeyMaxAge: the next secret is due
	Signs  bool // older than cursorKeyLead: all servers know it
}

// keyDue reports whether a secret must be made.
func keyDue(rows []cursorRow) bool { return len(rows) == 0 || rows[0].Due }

// cursorRows reads the newest two secrets, the newest first.
func cursorRows(ctx context.Context, tx pgx.Tx) ([]cursorRow, error) {
	rows, _ := tx.Query(ctx, `select number, secret, made_at < now() - $1::interval, made_at < now() - $2::interval
		from ninepocket.cursor_keys order by number desc limit 2`, cursorKeyMaxAge, cursorKeyLead)
	return pgx.CollectRows(rows, pgx.RowToStructByPos[cursorRow])
}

// nextCursorKey adds a secret if one is due, removes all but the newest two, and returns these. The
// lock lets one server make it; the others read it.
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

// AdoptCursorKey makes the secret of one machine the fleet's first secret, so that cursors from the
// machine are valid on every server. It returns false if the fleet has another secret already.
func (db *DB) AdoptCursorKey(ctx context.Context, secret [cursor.KeyLen]byte) (adopted bool, err error) {
	err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "lock table ninepocket.cursor_keys in exclusive mode"); err != nil {
			return err
		}
		rows, err := cursorRows(ctx, tx)
		if err != nil {
			return err
		}
		if len(rows) > 0 {
			for _, row := range rows {
				adopted = adopted || row.Number == machineCursorKeyNumber && bytes.Equal(row.Secret, secret[:])
			}
			return nil
		}

		var number int64
		err = tx.QueryRow(ctx, "insert into ninepocket.cursor_keys (secret) values ($1) returning number", secret[:]).
			Scan(&number)
		if err == nil && number != machineCursorKeyNumber {
			err = errOtherNumber
		}
		adopted = err == nil
		return err
	})
	if errors.Is(err, errOtherNumber) {
		return false, nil
	}
	return adopted, err
}
