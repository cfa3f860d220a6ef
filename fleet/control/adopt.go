package control

import (
	"bytes"
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"ninepocket/engine/cursor"
)

// machineCursorKey is the number by which one machine calls the secret of its cursors.
const machineCursorKey = 1

// errOtherNumber takes back an insertion under another number.
var errOtherNumber = errors.New("the first secret has another number")

// AdoptCursorKey makes the secret of one machine the first one of the fleet. So walks which began
// on the machine go on at every server. It returns false where the fleet has another one already.
func (db *DB) AdoptCursorKey(ctx context.Context, secret [cursor.KeyLen]byte) (adopted bool, err error) {
	taken := false // the machine's number is
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
				adopted = adopted || row.Number == machineCursorKey && bytes.Equal(row.Secret, secret[:])
			}
			return nil
		}

		var number int64
		err = tx.QueryRow(ctx, "insert into ninepocket.cursor_keys (secret) values ($1) returning number", secret[:]).
			Scan(&number)
		taken = err == nil && number != machineCursorKey
		if taken {
			err = errOtherNumber
		}
		adopted = err == nil
		return err
	})
	if taken {
		return false, nil
	}
	return adopted, err
}
