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
	"sync/atomic"
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
	// errRestoring: a copy is being restored, and not all of it is there. The error is temporary.
	errRestoring = fmt.Errorf("cannot use a database that is being restored: %w", ErrUnavailable)
)

// domainErrors are errors of this package that transactions return; explain passes them unchanged.
var domainErrors = []error{
	ErrOtherSends, ErrSessionTaken, ErrNoSuchServer, ErrServerAlive, errOtherNumber, errRestoring, errOlder,
}

// schema is the schema of the first version, and additions what later ones added to it.
var (
	//go:embed schema.sql
	schema string
	//go:embed additions.sql
	additions string
)

// completeSQL is true unless a copy is being restored: restores make foreign keys after all rows.
const completeSQL = `exists (
	select from pg_constraint where conrelid = to_regclass('ninepocket.keys') and contype = 'f')`

// DB is the database of a fleet. It is safe for concurrent use.
type DB struct {
	pool    *pgxpool.Pool
	url     atomic.Pointer[string]
	host    string
	timeout time.Duration
}

// Open connects to the database at a URL, and creates the schema if it is missing.
func Open(ctx context.Context, url string) (*DB, error) {
	return openWithTimeout(ctx, url, answerTimeout)
}

// openWithTimeout is Open with another answerTimeout, for tests on busy machines.
func openWithTimeout(ctx context.Context, url string, timeout time.Duration) (*DB, error) {
	db, err := newDB(url, timeout)
	if err != nil {
		return nil, err
	}
	if err := db.Prepare(ctx); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// New returns the database at a URL without asking it; Prepare does.
func New(url string) (*DB, error) { return newDB(url, answerTimeout) }

func newDB(url string, timeout time.Duration) (*DB, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		// The text of the error may contain the URL, and so a password.
		return nil, fmt.Errorf("cannot use the database of the fleet: %w", ErrURL)
	}
	config.MaxConns = maxConns
	config.ConnConfig.ConnectTimeout = timeout
	config.ConnConfig.RuntimeParams["application_name"] = "ninepocket"
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	// Statements without names: a pooler such as PgBouncer may give each transaction another session.
	config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe

	db := &DB{host: hostOf(&config.ConnConfig.Config), timeout: timeout}
	db.url.Store(&url)
	config.BeforeConnect = func(_ context.Context, next *pgx.ConnConfig) error { db.login(next); return nil }
	db.pool, err = pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("cannot use the database of the fleet: %w", ErrURL)
	}
	return db, nil
}

// login sets the user, password and certificates of a new connection, from the URL and its files as
// they are now. If the files cannot be read, the previous files stay in force.
func (db *DB) login(next *pgx.ConnConfig) {
	fresh, err := pgx.ParseConfig(*db.url.Load())
	if err != nil {
		return
	}
	next.User = fresh.User
	next.Password = fresh.Password
	next.TLSConfig = fresh.TLSConfig
	next.Fallbacks = fresh.Fallbacks
}

// Reload tries a URL, with its files as they are now, and takes it for all connections. It takes no URL of
// another database: that needs a restart.
func (db *DB) Reload(ctx context.Context, url string) (taken bool, err error) {
	fresh, err := pgx.ParseConfig(url)
	if err != nil {
		return false, fmt.Errorf("cannot use %s with what is configured now: %w", db, ErrURL)
	}
	// Bills of two databases must not mix in one process.
	if hostOf(&fresh.Config) != db.host {
		return false, nil
	}
	err = db.withTimeout(ctx, db.timeout, func(ctx context.Context) error {
		conn, err := pgx.ConnectConfig(ctx, fresh)
		if err == nil {
			err = conn.Close(ctx)
		}
		return err
	})
	if err != nil {
		return false, err
	}

	// Connections that are in use end when they are given back.
	db.url.Store(&url)
	db.pool.Reset()
	return true, nil
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

// Prepare creates the schema if it is missing, adds what it lacks, and refuses one of another version.
func (db *DB) Prepare(ctx context.Context) error {
	have, whole, err := db.schemaVersion(ctx)
	if err == nil && (have == 0 || have == wantSchemaVersion && !whole) {
		err = db.create(ctx, have == 0)
		if err == nil {
			have, _, err = db.schemaVersion(ctx)
		}
	}

	if err == nil && have != wantSchemaVersion {
		err = fmt.Errorf("cannot use %s: %w: its form is %d, want %d", db, ErrSchemaVersion, have, wantSchemaVersion)
	}
	return err
}

// create runs the statements of the additions, and before them those of the schema if that is missing.
func (db *DB) create(ctx context.Context, missing bool) error {
	return db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, "select pg_advisory_xact_lock($1)", schemaLock)
		// Two servers that start at once wait here for each other.
		if err == nil && missing {
			_, err = tx.Exec(ctx, schema)
		}
		if err == nil {
			_, err = tx.Exec(ctx, additions)
		}
		return err
	})
}

// schemaVersion reads the version of the schema, 0 if there is none, and whether it has all additions.
func (db *DB) schemaVersion(ctx context.Context) (have int, whole bool, err error) {
	err = db.withTimeout(ctx, db.timeout, func(ctx context.Context) error {
		var there bool
		err := db.pool.QueryRow(ctx, `select to_regclass('ninepocket.usage') is not null,
			to_regclass('ninepocket.lineage') is not null and to_regclass('ninepocket.server_plans') is not null
			and exists (select from pg_attribute where attrelid = to_regclass('ninepocket.servers')
				and attname = 'clock_ms')`).Scan(&there, &whole)
		if err != nil || !there {
			return err
		}
		return db.pool.QueryRow(ctx, "select form from ninepocket.control").Scan(&have)
	})
	return have, whole, err
}

// addMissing adds missing parts of the schema after a statement failed for them: the database may
// be a copy of an earlier version's. It returns the error of the statement. The next try succeeds.
func (db *DB) addMissing(ctx context.Context, failed error) error {
	if !errors.Is(failed, ErrSchemaVersion) {
		return failed
	}
	// A restore that is under way has not all rows yet, and would meet what is added.
	var complete bool
	err := db.one(ctx, db.timeout, []any{&complete}, "select "+completeSQL)
	if err == nil && complete {
		err = db.Prepare(ctx)
	}
	return errors.Join(failed, err)
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

// one runs a query with a timeout, and scans its only row to into.
func (db *DB) one(ctx context.Context, timeout time.Duration, into []any, query string, arguments ...any) error {
	return db.withTimeout(ctx, timeout, func(ctx context.Context) error {
		return db.pool.QueryRow(ctx, query, arguments...).Scan(into...)
	})
}

// inTx runs statements in one transaction that a caller waits for.
func (db *DB) inTx(ctx context.Context, do func(context.Context, pgx.Tx) error) error {
	return db.inTxWithin(ctx, db.timeout, do)
}

// inTxWithin runs statements in one transaction with a timeout.
func (db *DB) inTxWithin(ctx context.Context, timeout time.Duration, do func(context.Context, pgx.Tx) error) error {
	return db.withTimeout(ctx, timeout, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error { return do(ctx, tx) })
	})
}

// explain wraps an error of the database in the error of this package with its meaning.
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
	switch class := reported.Code[:2]; {
	case reported.Code == "42501", class == "25", class == "28", class == "3D":
		// No permission, a standby, a wrong password or user, no such database.
	case class == "22", class == "23", class == "42": // a value or a name that only another version's schema has
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
