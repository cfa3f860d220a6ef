package ledger

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// form is the form of the schema that this version reads and writes.
const form = 1

const (
	// patience bounds a statement that somebody waits for. A database that is only slow answers by then.
	patience = 4 * time.Second
	// exportPatience bounds one of up to chunk rows, which nobody waits for.
	exportPatience = 30 * time.Second
	// connections are those of a process at most: keys, export, and one to spare.
	connections = 4
	// schemaLock is the advisory lock under which the schema is made: "np" and a number.
	schemaLock = 0x6e70_0001
)

// Errors of the database.
var (
	// ErrAway: the database cannot be reached, or does not answer. It passes by itself.
	ErrAway = errors.New("it does not answer")
	// ErrRefused: the database does not let this user in, or do what is needed.
	ErrRefused = errors.New("it refuses this user")
	// ErrForm: the database holds another form of the schema, or is too old for it.
	ErrForm = errors.New("it cannot be used by this version")
	// ErrURL: what should name a database does not.
	ErrURL = errors.New("want postgres://USER@HOST/DATABASE")
)

// found are errors that are found in a transaction and are none of the database.
var found = []error{ErrTaken, ErrNoSuchServer, ErrReports}

//go:embed schema.sql
var schema string

// DB is the database of a fleet. It is safe for concurrent use.
type DB struct {
	pool     *pgxpool.Pool
	host     string
	patience time.Duration
}

// Open connects to the database that a URL names, and makes what is not there yet.
func Open(ctx context.Context, url string) (*DB, error) { return openFor(ctx, url, patience) }

// openFor is Open with another patience, for tests on machines that are busy.
func openFor(ctx context.Context, url string, patience time.Duration) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// Its text may hold what was given, a password included.
		return nil, fmt.Errorf("cannot use the database of the fleet: %w", ErrURL)
	}
	config.MaxConns = connections
	config.ConnConfig.ConnectTimeout = patience
	config.ConnConfig.RuntimeParams["application_name"] = "ninepocket"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the database of the fleet: %w", ErrURL)
	}
	db := &DB{pool: pool, host: hostOf(&config.ConnConfig.Config), patience: patience}
	if err := db.prepare(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return db, nil
}

// hostOf names where a database is, without user and password.
func hostOf(config *pgconn.Config) string {
	host := config.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.Itoa(int(config.Port)))
	}
	return host + "/" + config.Database
}

// Close ends all connections.
func (db *DB) Close() { db.pool.Close() }

// String names the database for messages.
func (db *DB) String() string { return "PostgreSQL at " + db.host }

// prepare makes the schema where it is not there, and refuses one of another form.
func (db *DB) prepare(ctx context.Context) error {
	have, err := db.form(ctx)
	if err == nil && have == 0 {
		err = db.within(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", schemaLock)
			if err == nil {
				_, err = tx.Exec(ctx, schema)
			}
			return err
		})
		if err == nil {
			have, err = db.form(ctx)
		}
	}

	if err == nil && have != form {
		err = fmt.Errorf("cannot use %s: %w: its form is %d, want %d", db, ErrForm, have, form)
	}
	return err
}

// form returns the form of the schema, 0 when there is none.
func (db *DB) form(ctx context.Context) (have int, err error) {
	err = db.ask(ctx, func(ctx context.Context) error {
		var there bool
		err := db.pool.QueryRow(ctx, "select to_regclass('ninepocket.usage') is not null").Scan(&there)
		if err != nil || !there {
			return err
		}
		return db.pool.QueryRow(ctx, "select form from ninepocket.control").Scan(&have)
	})
	return have, err
}

// ask runs statements that somebody waits for.
func (db *DB) ask(ctx context.Context, do func(context.Context) error) error {
	return db.bound(ctx, db.patience, do)
}

// bound runs statements for at most a while, and says what went wrong in words of this package.
func (db *DB) bound(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return db.explain(do(ctx))
}

// each runs a query for at most a while, and calls do whenever a row of it is in into. Here and elsewhere,
// an error of a query is that of its rows, too.
func (db *DB) each(
	ctx context.Context, most time.Duration, into []any, do func(), query string, arguments ...any,
) error {
	return db.bound(ctx, most, func(ctx context.Context) error {
		rows, _ := db.pool.Query(ctx, query, arguments...)
		_, err := pgx.ForEachRow(rows, into, func() error { do(); return nil })
		return err
	})
}

// within runs statements in one transaction, for which somebody waits.
func (db *DB) within(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	return db.ask(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}

// explain says what an error of the database means. What this package found itself passes.
func (db *DB) explain(err error) error {
	own := func(known error) bool { return errors.Is(err, known) }
	if err == nil || slices.ContainsFunc(found, own) {
		return err
	}

	told, answered := errors.AsType[*pgconn.PgError](err)
	if !answered {
		return fmt.Errorf("cannot reach %s: %w: %s", db, ErrAway, cause(err))
	}
	kind := ErrAway
	switch told.Code[:2] {
	case "25", "28", "3D", "42": // a standby, a wrong password or user, no such database, no right
		kind = ErrRefused
	case "22", "23": // what another version would store
		kind = ErrForm
	}
	if kind == ErrAway { //nolint:errorlint // it was chosen above
		return fmt.Errorf("cannot reach %s: %w: %s (%s)", db, kind, told.Message, told.Code)
	}
	return fmt.Errorf("cannot use %s: %w: %s (%s)", db, kind, told.Message, told.Code)
}

// cause is what went wrong on the way to the database, in a few words.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}

	// Each way that was tried has a line.
	text := err.Error()
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
