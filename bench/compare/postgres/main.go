// Command postgres serves a dump of cards from PostgreSQL with pg_trgm. It makes a database in a
// temporary folder, starts PostgreSQL as a child process, imports the dump and serves the driver's
// paths over net/http.
//
//	postgres DUMP [FOLDER OF initdb AND postgres]
//	postgres -version
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"ninepocket-compare/cards"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "postgres:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if len(os.Args) < 2 {
		return errors.New("usage: postgres DUMP [FOLDER OF initdb AND postgres]")
	}

	programs := programFolder(os.Args[2:])
	if programs == "" {
		return errors.New("cannot find initdb: install PostgreSQL or give the folder of its programs")
	}
	if os.Args[1] == "-version" {
		version, err := exec.Command(filepath.Join(programs, "postgres"), "--version").Output()
		if fields := strings.Fields(string(version)); len(fields) >= 3 {
			fmt.Println("PostgreSQL", fields[2])
		}
		return err
	}

	folder, err := os.MkdirTemp("", "compare-postgres-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	stop, err := startPostgres(programs, folder)
	if err != nil {
		return err
	}
	defer stop()
	pool, err := connect(ctx, folder)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := importCards(ctx, pool, os.Args[1]); err != nil {
		return err
	}
	return cards.Serve(&store{pool})
}

// programFolder returns the folder of the newest installed PostgreSQL, because Debian does not put
// its programs on PATH.
func programFolder(given []string) string {
	if len(given) > 0 && given[0] != "" {
		return given[0]
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}

	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(all) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(all))
}

// startPostgres makes a cluster that only this program can reach, by a socket in its folder.
// PostgreSQL does not run as root; in that case it runs as the user that its package made.
func startPostgres(programs, folder string) (stop func(), err error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() == 0 {
		who, err := user.Lookup("postgres")
		if err != nil {
			return nil, fmt.Errorf("cannot run PostgreSQL as root, and: %w", err)
		}

		uid, _ := strconv.Atoi(who.Uid)
		gid, _ := strconv.Atoi(who.Gid)
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		if err := os.Chown(folder, uid, gid); err != nil {
			return nil, err
		}
	}

	command := func(name string, arguments ...string) *exec.Cmd {
		c := exec.Command(filepath.Join(programs, name), arguments...)
		c.SysProcAttr = attributes
		c.Dir = folder
		c.Stdout = os.Stderr
		c.Stderr = os.Stderr
		return c
	}

	data := filepath.Join(folder, "data")
	if err := command("initdb", "-D", data, "-U", "compare", "-E", "UTF8", "--locale=C.UTF-8", "-A",
		"trust").Run(); err != nil {
		return nil, fmt.Errorf("cannot make a cluster: %w", err)
	}

	// The buffers hold the whole catalog. JIT would only slow down queries this short. Nothing is
	// written during the measurement.
	server := command("postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "shared_buffers=1GB",
		"-c", "work_mem=32MB",
		"-c", "maintenance_work_mem=512MB", "-c", "jit=off", "-c", "fsync=off", "-c", "max_connections=50", "-c",
		"effective_cache_size=4GB", "-c", "random_page_cost=1.1",
		"-c", "max_parallel_workers_per_gather=0", "-c", "pg_trgm.word_similarity_threshold=0.5")
	if err := server.Start(); err != nil {
		return nil, err
	}
	return func() {
		// Fast shutdown.
		server.Process.Signal(syscall.SIGINT)
		server.Wait()
	}, nil
}

func connect(ctx context.Context, folder string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s user=compare dbname=postgres pool_max_conns=16", folder))
	if err != nil {
		return nil, err
	}

	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, err
	}

	for range 200 {
		err = pool.Ping(ctx)
		if err == nil {
			return pool, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	pool.Close()
	return nil, fmt.Errorf("cannot reach PostgreSQL: %w", err)
}

const schema = `
CREATE EXTENSION pg_trgm;
CREATE TABLE cards (
  id text PRIMARY KEY, slug text UNIQUE, name text, number text, game text, game_name text, rarity text,
  set_id text, set_name text, url text, cents bigint, price_at text, rank int, folded text, words text
);
CREATE TABLE prices (
  card_id text, position int, variant text, condition text, cents bigint, updated_at text,
  change7 bigint, percent7 float8, change30 bigint, percent30 float8,
  PRIMARY KEY (card_id, position)
);`

var indexes = []string{
	"CREATE INDEX cards_words ON cards USING gin (words gin_trgm_ops)",
	"CREATE INDEX cards_cents ON cards (cents, rank)",
	"CLUSTER prices USING prices_pkey",
	"VACUUM ANALYZE cards",
	"VACUUM ANALYZE prices",
}

func importCards(ctx context.Context, pool *pgxpool.Pool, dump string) error {
	if _, err := pool.Exec(ctx, schema); err != nil {
		return err
	}

	var heads, lanes [][]any
	err := cards.Read(dump, func(rank int, c *cards.Exported) error {
		var setID, setName *string
		if c.Set != nil {
			setID = &c.Set.ID
			setName = &c.Set.Name
		}

		name, number, set := c.Text()
		heads = append(heads, []any{
			c.ID, c.Slug, c.Name, c.Number, c.Game, c.GameName, c.Rarity, setID, setName, c.URL,
			c.Display.Cents, c.Display.UpdatedAt, rank, name, name + " " + number + " " + set,
		})
		for i, l := range c.Prices {
			lanes = append(lanes, []any{
				c.ID, i, l.Variant, l.Condition, l.Cents, l.UpdatedAt, l.Change7, l.Percent7, l.Change30, l.Percent30,
			})
		}
		return nil
	})
	if err != nil {
		return err
	}

	_, err = pool.CopyFrom(ctx, pgx.Identifier{"cards"}, []string{
		"id", "slug", "name", "number", "game", "game_name", "rarity",
		"set_id", "set_name", "url", "cents", "price_at", "rank", "folded", "words",
	}, pgx.CopyFromRows(heads))
	if err != nil {
		return err
	}

	_, err = pool.CopyFrom(ctx, pgx.Identifier{"prices"}, []string{
		"card_id", "position", "variant", "condition", "cents",
		"updated_at", "change7", "percent7", "change30", "percent30",
	}, pgx.CopyFromRows(lanes))
	if err != nil {
		return err
	}

	// One by one, because VACUUM cannot run in a transaction.
	for _, statement := range indexes {
		if _, err := pool.Exec(ctx, statement); err != nil {
			return fmt.Errorf("cannot do %q: %w", statement, err)
		}
	}
	return nil
}
