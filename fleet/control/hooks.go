package control

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// hooksLock is the advisory lock of the server that sends hooks.
const hooksLock = 0x6e70_0002

// ErrOtherSends reports that another server sends the hooks.
var ErrOtherSends = errors.New("another server of the fleet sends them")

// HookLedger has what was sent by hooks, for the one server that has its lock. One goroutine uses it.
type HookLedger struct {
	db   *DB
	conn *pgx.Conn // whose session has the lock; nil without it
}

// HookLedger returns the ledger of hooks.
func (db *DB) HookLedger() *HookLedger { return &HookLedger{db: db} }

// Load takes the lock, unless this server has it, and returns what was saved last.
func (ledger *HookLedger) Load(ctx context.Context) (record []byte, err error) {
	return record, ledger.do(ctx, func(ctx context.Context) error {
		// While the session lasts, the lock does.
		if ledger.conn == nil {
			if err := ledger.lock(ctx); err != nil {
				return err
			}
		}
		err := ledger.conn.QueryRow(ctx, "select record from ninepocket.hooks").Scan(&record)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
}

// lock takes the lock in a session of its own. Databases of earlier versions have no table of hooks.
func (ledger *HookLedger) lock(ctx context.Context) (err error) {
	ledger.conn, err = pgx.ConnectConfig(ctx, ledger.db.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	_, err = ledger.conn.Exec(ctx, `create table if not exists ninepocket.hooks
		(one boolean primary key default true check (one), record jsonb not null)`)
	locked := false
	if err == nil {
		err = ledger.conn.QueryRow(ctx, "select pg_try_advisory_lock($1)", hooksLock).Scan(&locked)
	}
	if err == nil && !locked {
		err = ErrOtherSends
	}
	return err
}

// Save replaces what was saved before.
func (ledger *HookLedger) Save(ctx context.Context, record []byte) error {
	return ledger.do(ctx, func(ctx context.Context) error {
		_, err := ledger.conn.Exec(ctx, `insert into ninepocket.hooks (record) values ($1)
			on conflict (one) do update set record = excluded.record`, record)
		return err
	})
}

// do runs statements. After an error the lock is released, and the next Load takes it again.
func (ledger *HookLedger) do(ctx context.Context, statements func(context.Context) error) error {
	err := ledger.db.query(ctx, statements)
	if err != nil {
		ledger.Close()
	}
	return err
}

// Close releases the lock.
func (ledger *HookLedger) Close() {
	if ledger.conn != nil {
		_ = ledger.conn.Close(context.Background())
		ledger.conn = nil
	}
}
