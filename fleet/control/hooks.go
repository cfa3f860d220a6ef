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

// HookLedger has the events that hooks have sent. Only the server with its lock uses it. One
// goroutine uses it.
type HookLedger struct {
	db   *DB
	conn *pgx.Conn // whose open transaction has the lock; nil without it
}

// HookLedger returns the ledger of hooks.
func (db *DB) HookLedger() *HookLedger { return &HookLedger{db: db} }

// Load takes the lock, unless this server has it, and returns what was saved last.
func (ledger *HookLedger) Load(ctx context.Context) (record []byte, err error) {
	err = ledger.do(ctx, func(ctx context.Context) error {
		if ledger.conn == nil {
			if err := ledger.lock(ctx); err != nil {
				return err
			}
		}
		err := ledger.db.pool.QueryRow(ctx, "select record from ninepocket.hooks").Scan(&record)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	return record, err
}

// lock takes the lock in a transaction that stays open, for a pooler may give the session to others. It writes
// nothing, so that it holds up no vacuum. Databases of earlier versions have no table of hooks.
func (ledger *HookLedger) lock(ctx context.Context) (err error) {
	_, err = ledger.db.pool.Exec(ctx, `do $$ begin if to_regclass('ninepocket.hooks') is null then
		create table ninepocket.hooks (one boolean primary key default true check (one), record jsonb not null);
		end if; end $$`)
	if err != nil {
		return err
	}

	config := ledger.db.pool.Config().ConnConfig
	ledger.db.login(config)
	ledger.conn, err = pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}

	_, err = ledger.conn.Exec(ctx, "begin; set local idle_in_transaction_session_timeout = 0")
	locked := false
	if err == nil {
		err = ledger.conn.QueryRow(ctx, "select pg_try_advisory_xact_lock($1)", hooksLock).Scan(&locked)
	}
	if err == nil && !locked {
		err = ErrOtherSends
	}
	return err
}

// Save replaces what was saved before.
func (ledger *HookLedger) Save(ctx context.Context, record []byte) error {
	return ledger.do(ctx, func(ctx context.Context) error {
		_, err := ledger.db.pool.Exec(ctx, `insert into ninepocket.hooks (record) values ($1)
			on conflict (one) do update set record = excluded.record`, record)
		return err
	})
}

// do runs statements, while the lock's transaction lasts. After an error the lock is released, and the next Load
// takes it again.
func (ledger *HookLedger) do(ctx context.Context, statements func(context.Context) error) error {
	err := ledger.db.withTimeout(ctx, ledger.db.timeout, func(ctx context.Context) error {
		if ledger.conn != nil {
			if err := ledger.conn.Ping(ctx); err != nil {
				return err
			}
		}
		return statements(ctx)
	})
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
