package control

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

// migrate is the form of the schema that this version reads and writes.
const schemaVersion = 1

const (
	// timeout bounds a statement that somebody waits for. A database that is only slow answers by
	// then.
	answerTimeout = 4 * time.Second
	// exportTimeout bounds one of up to chunk rows, which nobody waits for.
	exportTimeout = 30 * time.Second
	// maxConns are those of a process at most: keys, export, and one to spare.
	maxConns = 4
	// schemaLock is the advisory lock under which the schema is made: "np" and a number.
	schemaLock = 0x6e70_0001
)

// Errors of the database.
var (
	// ErrUnavailable: the database cannot be reached, or does not answer. It passes by itself.
	ErrUnavailable = errors.New("it does not answer")
	// ErrPermission: the database does not let this user in, or do what is needed.
	ErrPermission = errors.New("it refuses this user")
	// ErrSchemaVersion: the database holds another form of the schema, or is too old for it.
	ErrSchemaVersion = errors.New("it cannot be used by this version")
	// ErrURL: what should name a database does not.
	ErrURL = errors.New("want postgres://USER@HOST/DATABASE")
)

// domainErrors are errors that are found in a transaction and are none of the database.
var domainErrors = []error{ErrSessionTaken, ErrNoSuchServer, ErrServerAlive}

//go:embed schema.sql
var schema string

// DB is the database of a fleet. It is safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	host    string
	timeout time.Duration
}

// Open connects to the database that a URL names, and makes what is not there yet.
func Open(ctx context.Context, url string) (*DB, error) {
	return openWithTimeout(ctx, url, answerTimeout)
}

// openWithTimeout is Open with another patience, for tests on machines that are busy.
func openWithTimeout(ctx context.Context, url string, timeout time.Duration) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// Its text may hold what was given, a password included.
		return nil, fmt.Errorf("cannot use the database of the fleet: %w", ErrURL)
	}
	config.MaxConns = maxConns
	config.ConnConfig.ConnectTimeout = timeout
	config.ConnConfig.RuntimeParams["application_name"] = "ninepocket"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the database of the fleet: %w", ErrURL)
	}
	db := &DB{pool: pool, host: hostOf(&config.ConnConfig.Config), timeout: timeout}
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
	have, err := db.migrate(ctx)
	if err == nil && have == 0 {
		err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", schemaLock)
			if err == nil {
				_, err = tx.Exec(ctx, schema)
			}
			return err
		})
		if err == nil {
			have, err = db.migrate(ctx)
		}
	}

	if err == nil && have != schemaVersion {
		err = fmt.Errorf("cannot use %s: %w: its form is %d, want %d", db, ErrSchemaVersion, have, schemaVersion)
	}
	return err
}

// migrate returns the form of the schema, 0 when there is none.
func (db *DB) migrate(ctx context.Context) (have int, err error) {
	err = db.query(ctx, func(ctx context.Context) error {
		var there bool
		err := db.pool.QueryRow(ctx, "select to_regclass('ninepocket.usage') is not null").Scan(&there)
		if err != nil || !there {
			return err
		}
		return db.pool.QueryRow(ctx, "select form from ninepocket.control").Scan(&have)
	})
	return have, err
}

// query runs statements that somebody waits for.
func (db *DB) query(ctx context.Context, do func(context.Context) error) error {
	return db.withTimeout(ctx, db.timeout, do)
}

// withTimeout runs statements for at most a while, and says what went wrong in words of this
// package.
func (db *DB) withTimeout(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return db.explain(do(ctx))
}

// each runs a query for at most a while, and calls do whenever a row of it is in into. Here and elsewhere,
// an error of a query is that of its rows, too.
func (db *DB) each(
	ctx context.Context, timeout time.Duration, into []any, do func(), query string, arguments ...any,
) error {
	return db.withTimeout(ctx, timeout, func(ctx context.Context) error {
		rows, _ := db.pool.Query(ctx, query, arguments...)
		_, err := pgx.ForEachRow(rows, into, func() error { do(); return nil })
		return err
	})
}

// inTx runs statements in one transaction, for which somebody waits.
func (db *DB) inTx(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	return db.query(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}

// explain says what an error of the database means. What this package found itself passes.
func (db *DB) explain(err error) error {
	own := func(known error) bool { return errors.Is(err, known) }
	if err == nil || slices.ContainsFunc(domainErrors, own) {
		return err
	}

	reported, answered := errors.AsType[*pgconn.PgError](err)
	if !answered {
		return fmt.Errorf("cannot reach %s: %w: %s", db, ErrUnavailable, cause(err))
	}
	kind := ErrUnavailable
	switch reported.Code[:2] {
	case "25", "28", "3D", "42": // a standby, a wrong password or user, no such database, no right
		kind = ErrPermission
	case "22", "23": // what another version would store
		kind = ErrSchemaVersion
	}
	if kind == ErrUnavailable { //nolint:errorlint // it was chosen above
		return fmt.Errorf("cannot reach %s: %w: %s (%s)", db, kind, reported.Message, reported.Code)
	}
	return fmt.Errorf("cannot use %s: %w: %s (%s)", db, kind, reported.Message, reported.Code)
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
