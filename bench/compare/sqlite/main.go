// Command sqlite serves a dump of cards from SQLite with an FTS5 trigram index over net/http. Build
// it with cgo and the tag sqlite_fts5.
//
//	sqlite DUMP
//	sqlite -version
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	sqlite3 "github.com/mattn/go-sqlite3"
	"ninepocket-compare/cards"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "sqlite:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 && (len(os.Args) != 3 || os.Args[2] != "words") {
		return errors.New("usage: sqlite DUMP")
	}
	if os.Args[1] == "-version" {
		version, _, _ := sqlite3.Version()
		fmt.Println("SQLite", version)
		return nil
	}

	folder, err := os.MkdirTemp("", "compare-sqlite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)

	file := filepath.Join(folder, "cards.db")
	if err := importCards(file, os.Args[1]); err != nil {
		return err
	}

	// Nothing is written from here on: no locks are needed, and the file is read through the page
	// cache.
	db, err := sql.Open("sqlite3", "file:"+file+"?mode=ro&immutable=1&_query_only=1&_cache_size=-200000")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	s, err := newStore(db)
	if err != nil {
		return err
	}
	return cards.Serve(s)
}

const schema = `
PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
CREATE TABLE cards (
  rank INTEGER PRIMARY KEY, id TEXT UNIQUE, slug TEXT UNIQUE, name TEXT, number TEXT, game TEXT,
  game_name TEXT, rarity TEXT,
  set_id TEXT, set_name TEXT, url TEXT, cents INTEGER, price_at TEXT, folded TEXT
);
CREATE TABLE prices (
  card INTEGER, position INTEGER, variant TEXT, condition TEXT, cents INTEGER, updated_at TEXT,
  change7 INTEGER, percent7 REAL, change30 INTEGER, percent30 REAL, PRIMARY KEY (card, position)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(name, number, set_name, tokenize = '%s');`

const indexes = `
CREATE INDEX cards_cents ON cards (cents, rank);
INSERT INTO words(words) VALUES ('optimize');
ANALYZE;`

// byWords reports whether whole words are indexed and not their trigrams.
func byWords() bool { return len(os.Args) == 3 }

func tokenizer() string {
	if byWords() {
		return "unicode61"
	}
	return "trigram"
}

func importCards(file, dump string) error {
	db, err := sql.Open("sqlite3", "file:"+file)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(fmt.Sprintf(schema, tokenizer())); err != nil {
		return err
	}

	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	card, err := tx.Prepare(`INSERT INTO cards VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}

	lane, err := tx.Prepare(`INSERT INTO prices VALUES (?,?,?,?,?,?,?,?,?,?)`)
	if err != nil {
		return err
	}

	words, err := tx.Prepare(`INSERT INTO words (rowid, name, number, set_name) VALUES (?,?,?,?)`)
	if err != nil {
		return err
	}
	err = cards.Read(dump, func(rank int, c *cards.Exported) error {
		var setID, setName *string
		if c.Set != nil {
			setID = &c.Set.ID
			setName = &c.Set.Name
		}
		name, number, set := c.Text()
		if _, err := card.Exec(rank, c.ID, c.Slug, c.Name, c.Number, c.Game, c.GameName, c.Rarity, setID, setName,
			c.URL,
			c.Display.Cents, c.Display.UpdatedAt, name); err != nil {
			return err
		}

		for i, l := range c.Prices {
			if _, err := lane.Exec(rank, i, l.Variant, l.Condition, l.Cents, l.UpdatedAt, l.Change7, l.Percent7,
				l.Change30, l.Percent30); err != nil {
				return err
			}
		}

		_, err := words.Exec(rank, name, number, set)
		return err
	})
	if err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	_, err = db.Exec(indexes)
	return err
}
