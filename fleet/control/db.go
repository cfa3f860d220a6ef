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

// wantSchemaVersion is the version of the schema that this program reads and writes.
const wantSchemaVersion = 1

const (
	// answerTimeout bounds a statement that a caller waits for. A database that is only slow answers
	// within it.
	answerTimeout = 4 * time.Second
	// exportTimeout bounds a background statement of up to chunkRows rows.
	exportTimeout = 30 * time.Second
	// maxConns limits the connections of a process: keys, export, and some to spare.
	maxConns = 4
	// schemaLock is the advisory lock for creating the schema: "np" and a number.
	schemaLock = 0x6e70_0001
)

// Errors of the database.
var (
	// ErrUnavailable: the database cannot be reached or does not answer. The error is temporary.
	ErrUnavailable = errors.New("it does not answer")
	// ErrPermission: the database denies this user the login or a statement.
	ErrPermission = errors.New("it refuses this user")
	// ErrSchemaVersion: the database has another version of the schema, or rejects a value of this one.
	ErrSchemaVersion = errors.New("it cannot be used by this version")
	// ErrURL: the URL of the database is invalid.
	ErrURL = errors.New("want postgres://USER@HOST/DATABASE")
)

// domainErrors are errors of this package that transactions return; explain passes them unchanged.
var domainErrors = []error{ErrOtherSends, ErrSessionTaken, ErrNoSuchServer, ErrServerAlive, errOtherNumber}

//go:embed schema.sql
var schema string

// DB is the database of a fleet. It is safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	host    string
	timeout time.Duration
}

// Open connects to the database at a URL, and creates the schema if it is missing.
func Open(ctx context.Context, url string) (*DB, error) {
	return openWithTimeout(ctx, url, answerTimeout)
}

// openWithTimeout is Open with another answerTimeout, for tests on busy machines.
func openWithTimeout(ctx context.Context, url string, timeout time.Duration) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The text of the error may contain the URL, and so a password.
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

// hostOf returns the host and name of a database, without user and password.
func hostOf(config *pgconn.Config) string {
	host := config.Host
	if !strings.HasPrefix(host, "/") {
		host = net.JoinHostPort(host, strconv.Itoa(int(config.Port)))
	}
	return host + "/" + config.Database
}

// Close closes all connections.
func (db *DB) Close() { db.pool.Close() }

// String names the database for messages.
func (db *DB) String() string { return "PostgreSQL at " + db.host }

// prepare creates the schema if it is missing, and refuses one of another version.
func (db *DB) prepare(ctx context.Context) error {
	have, err := db.schemaVersion(ctx)
	if err == nil && have == 0 {
		err = db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", schemaLock)
			if err == nil {
				_, err = tx.Exec(ctx, schema)
			}
			return err
		})
		if err == nil {
			have, err = db.schemaVersion(ctx)
		}
	}

	if err == nil && have != wantSchemaVersion {
		err = fmt.Errorf("cannot use %s: %w: its form is %d, want %d", db, ErrSchemaVersion, have, wantSchemaVersion)
	}
	return err
}

// schemaVersion reads the version of the schema, 0 if there is none.
func (db *DB) schemaVersion(ctx context.Context) (have int, err error) {
	err = db.query(ctx, func(ctx context.Context) error {
		var there bool
		err := db.pool.QueryRow(ctx, `select to_regclass('ninepocket.usage') is not null
			and exists (select from pg_attribute where attrelid = to_regclass('ninepocket.servers')
				and attname = 'clock_ms')`).Scan(&there)
		if err != nil || !there {
			return err
		}
		return db.pool.QueryRow(ctx, "select form from ninepocket.control").Scan(&have)
	})
	return have, err
}

// query runs statements that a caller waits for.
func (db *DB) query(ctx context.Context, do func(context.Context) error) error {
	return db.withTimeout(ctx, db.timeout, do)
}

// withTimeout runs statements with a timeout, and returns their error as explain does.
func (db *DB) withTimeout(ctx context.Context, timeout time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return db.explain(do(ctx))
}

// exec runs a statement that returns nothing.
func (db *DB) exec(ctx context.Context, timeout time.Duration, statement string, arguments ...any) error {
	return db.withTimeout(ctx, timeout, func(ctx context.Context) error {
		_, err := db.pool.Exec(ctx, statement, arguments...)
		return err
	})
}

// each runs a query with a timeout, and calls do after each row is scanned to into. Here and elsewhere
// the error of Query is dropped, because reading its rows returns it as well.
func (db *DB) each(
	ctx context.Context, timeout time.Duration, into []any, do func(), query string, arguments ...any,
) error {
	return db.withTimeout(ctx, timeout, func(ctx context.Context) error {
		rows, _ := db.pool.Query(ctx, query, arguments...)
		_, err := pgx.ForEachRow(rows, into, func() error { do(); return nil })
		return err
	})
}

// inTx runs statements in one transaction that a caller waits for.
func (db *DB) inTx(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	return db.query(ctx, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}

// explain wraps an error of the database in the one of this package that says what it means.
// domainErrors are returned unchanged.
func (db *DB) explain(err error) error {
	own := func(known error) bool { return errors.Is(err, known) }
	if err == nil || slices.ContainsFunc(domainErrors, own) {
		return err
	}

	reported, answered := errors.AsType[*pgconn.PgError](err)
	if !answered {
		return fmt.Errorf("cannot reach %s: %w: %s", db, ErrUnavailable, cause(err))
	}
	kind := ErrPermission
	switch reported.Code[:2] {
	case "25", "28", "3D", "42": // a standby, a wrong password or user, no such database, no permission
	case "22", "23": // a value that only another version of the schema can store
		kind = ErrSchemaVersion
	default:
		return fmt.Errorf("cannot reach %s: %w: %s (%s)", db, ErrUnavailable, reported.Message, reported.Code)
	}
	return fmt.Errorf("cannot use %s: %w: %s (%s)", db, kind, reported.Message, reported.Code)
}

// cause returns a short text for an error on the way to the database.
func cause(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}

	// The text has a line for each address that was tried.
	text := err.Error()
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}
