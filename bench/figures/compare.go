package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/bench"
	"ninepocket/bench/rivals"
)

// comparison runs other stacks, each built from bench/compare by its own command. A stack that
// cannot be built or started is left out, with a line of output.
type comparison struct {
	*settings
	folder   string // of this comparison: stores, dumps, programs
	versions []string
}

// stack is a server that a shell command starts; the command has a placeholder for the dump.
type stack struct{ name, command string }

func compareCommand(s *settings) *cobra.Command {
	cards := 30_000
	postgres := ""
	cmd := &cobra.Command{
		Use: "compare", Short: "Other stacks compared with ours", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			folder, err := os.MkdirTemp("", "ninepocket-compare-")
			if err != nil {
				return err
			}
			defer func() { _ = os.RemoveAll(folder) }()     // if this fails, files stay in the temporary folder
			if err := os.Chmod(folder, 0o711); err != nil { //nolint:gosec // PostgreSQL runs as another user
				return err
			}

			r := &comparison{settings: s, folder: folder}
			text, err := r.compare(cmd.Context(), cards, postgres)
			if err != nil {
				return err
			}
			return s.publish(cmd.Context(), "comparison", "bench-compare", text)
		},
	}

	cmd.Flags().IntVar(&cards, "cards", cards, "how many cards the synthetic catalog has")
	cmd.Flags().StringVar(&postgres, "postgres", "",
		"folder of initdb and postgres, where they are not found by themselves")
	return cmd
}

// compare measures requests on a synthetic catalog, then searches on the real one.
func (r *comparison) compare(ctx context.Context, cards int, postgres string) (string, error) {
	databases := r.databases(ctx, postgres)
	engines := r.engines(ctx)
	synthetic, dump, err := r.synthetic(ctx, cards)
	if err != nil {
		return "", err
	}

	options := r.options
	options.Store = synthetic
	options.CompareWith = []string{rivals.Plain}
	options.Operations = []string{"get_card", "cards_batch_200", "prices_batch_100", "filter_price"}
	options.Rivals = rivalsOf(databases, dump)
	requests, err := rivals.Run(ctx, options, rivals.Options{Self: r.self})
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("Requests, %d synthetic cards:\n\n%s", cards, requests.Markdown())

	// Searches use the real catalogs if they exist, because the result depends on the names.
	options.Operations = []string{"search_exact", "search_new", "search_typo", "search_distance2", "search_prefix"}
	title := fmt.Sprintf("Searches of 20, %d synthetic cards", cards)
	queries := ""
	typed := ""
	official, officialDump, err := r.real(ctx)
	switch {
	case err != nil:
		return "", err
	case official == "":
		fmt.Fprintln(os.Stderr,
			"skipped: searches over the real catalogs, because they are not in "+r.data+" (see make data)")
		options.Rivals = append(rivalsOf(databases, dump), rivalsOf(engines, dump)...)
	default:
		title = "Searches of 20, the real catalogs (pokemon-tcg-data and punk-records)"
		options.Store = official
		queries = filepath.Join(r.data, "search-queries.tsv")
		if file := filepath.Join(r.data, "search-queries-typed.tsv"); exists(file) {
			typed = file
		}
		options.Rivals = append(rivalsOf(databases, officialDump), rivalsOf(engines, officialDump)...)
	}

	searches, err := rivals.Run(ctx, options, rivals.Options{Self: r.self, Queries: queries, Typed: typed})
	if err != nil {
		return "", err
	}

	text += "\n" + title + ":\n\n" + searches.Markdown() + searches.QualityRow()
	if table := searches.TypedTable(); table != "" {
		if err := r.writeSearch(table); err != nil {
			return "", err
		}
	}
	return strings.Join(r.versions, ", ") + ".\n\n" + text, nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// searchDocument is the page with the table of typed queries.
const searchDocument = "docs/dev/SEARCH.md"

// writeSearch prints the table of typed queries, and writes it into its document unless none shall
// be written.
func (r *comparison) writeSearch(table string) error {
	fmt.Println(table)
	if r.document == "" {
		return nil
	}

	old, err := os.ReadFile(searchDocument)
	if err != nil {
		return fmt.Errorf("cannot read the document: %w", err)
	}
	section := strings.Join(r.versions, ", ") + ".\n\n" + strings.TrimSpace(table)
	changed, err := replaceSection(string(old), "typed", section)
	if err != nil {
		return fmt.Errorf("cannot write into %q: %w", searchDocument, err)
	}
	return os.WriteFile(searchDocument, []byte(changed), 0o644) //nolint:gosec // git has it so
}

// rivalsOf returns the stacks as rivals that serve a dump.
func rivalsOf(stacks []stack, dump string) []bench.Rival {
	var out []bench.Rival
	for _, one := range stacks {
		out = append(out, rivals.Shell(one.name, fmt.Sprintf(one.command, quote(dump))))
	}
	return out
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func skip(what string, err error) {
	fmt.Fprintf(os.Stderr, "skipped: %s, because %s\n", what, strings.ReplaceAll(strings.TrimSpace(err.Error()), "\n",
		" "))
}

// output runs a command in a folder and returns its output.
func output(ctx context.Context, folder string, environment []string, name string, arguments ...string) (string,
	error,
) {
	command := exec.CommandContext(ctx, name, arguments...) //nolint:gosec // the commands are ours
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	var out, trouble bytes.Buffer
	command.Stdout = &out
	command.Stderr = &trouble
	if err := command.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(trouble.String()), "\n")
		return "", fmt.Errorf("cannot run %s: %w: %s", name, err, lines[len(lines)-1])
	}
	return strings.TrimSpace(out.String()), nil
}

const compareFolder = "bench/compare"

// databases builds the servers for PostgreSQL and SQLite.
func (r *comparison) databases(ctx context.Context, postgres string) []stack {
	var all []stack
	program, err := r.program(ctx, "postgres")
	if err == nil {
		var version string
		version, err = output(ctx, ".", nil, program, "-version")
		if err == nil {
			all = append(all, stack{"postgres", program + " %s " + quote(postgres)})
			r.versions = append(r.versions, version+" with pg_trgm")
		}
	}
	if err != nil {
		skip("PostgreSQL", err)
	}

	program, err = r.program(ctx, "sqlite", "-tags", "sqlite_fts5")
	if err == nil {
		var version string
		version, err = output(ctx, ".", nil, program, "-version")
		if err == nil {
			all = append(all, stack{"sqlite", program + " %s"}, stack{"sqlite-words", program + " %s words"})
			r.versions = append(r.versions, version+" with FTS5 trigram")
		}
	}
	if err != nil {
		skip("SQLite", err)
	}
	return all
}

// program builds one server of the separate module; SQLite needs a C compiler.
func (r *comparison) program(ctx context.Context, name string, flags ...string) (string, error) {
	to := filepath.Join(r.folder, name)
	_, err := output(ctx, compareFolder, []string{"CGO_ENABLED=1"}, "go", append(append([]string{"build"}, flags...),
		"-o", to, "./"+name)...)
	return to, err
}

// engines installs the search libraries for Node from their lock file.
func (r *comparison) engines(ctx context.Context) []stack {
	node := filepath.Join(compareFolder, "node")
	version, err := output(ctx, node, nil, "node", "--version")
	if err == nil {
		_, err = output(ctx, node, nil, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")
	}
	if err != nil {
		skip("MiniSearch and Orama", err)
		return nil
	}

	var all []stack
	r.versions = append(r.versions, "Node "+strings.TrimPrefix(version, "v"))
	for _, library := range [][2]string{{"minisearch", "minisearch"}, {"orama", "@orama/orama"}} {
		version, err = output(ctx, node, nil, "node", "-p",
			`require("./node_modules/`+library[1]+`/package.json").version`)
		if err != nil {
			skip(library[0], err)
			continue
		}

		all = append(all, stack{library[0], "node " + filepath.Join(node, "server.mjs") + " " + library[0] + " %s"})
		r.versions = append(r.versions, library[0]+" "+version)
	}
	return all
}

// synthetic makes a store of a synthetic catalog and its dump.
func (r *comparison) synthetic(ctx context.Context, cards int) (store, dump string, err error) {
	store = filepath.Join(r.folder, "synthetic", "store")
	if err := os.MkdirAll(filepath.Dir(store), 0o711); err != nil { //nolint:gosec // as above
		return "", "", err
	}

	if _, err := task(ctx, r.options.Self, bench.BuildTask(store, cards, 30)); err != nil {
		return "", "", err
	}
	dump, err = r.dump(ctx, store, "synthetic.jsonl")
	return store, dump, err
}

// real builds the official catalogs; it does nothing without their files.
func (r *comparison) real(ctx context.Context) (store, dump string, err error) {
	pokemon := filepath.Join(r.data, "pokemon-tcg-data", "pokemon-tcg-data-en.tar.zst")
	punk := filepath.Join(r.data, "punk-records", "punk-records-english.tar.zst")
	for _, file := range []string{pokemon, punk} {
		if _, err := os.Stat(file); err != nil {
			return "", "", nil //nolint:nilerr // without them the synthetic catalog is used
		}
	}

	store = filepath.Join(r.folder, "real")
	weekly := filepath.Join(r.data, "price-history", "pokemon-weekly-130w-by-pokemontcg-id.csv.zst")
	_, err = output(ctx, ".", nil, r.binary, "snapshot", "build", "--store", store, "--publish", "--collected-at",
		"2026-08-22T20:00:00Z", "--snapshot-at", "2026-08-22T20:00:00Z",
		"--source", "pokemon-tcg-data:"+pokemon, "--source", "punk-records:"+punk, "--prices",
		"pokemon-tcg-data:"+weekly)
	if err != nil {
		return "", "", err
	}

	dump, err = r.dump(ctx, store, "real.jsonl")
	return store, dump, err
}

func (r *comparison) dump(ctx context.Context, store, name string) (string, error) {
	text, err := task(ctx, r.self, rivals.ExportTask(store))
	if err != nil {
		return "", err
	}
	file := filepath.Join(r.folder, name)
	return file, os.WriteFile(file, []byte(text), 0o644) //nolint:gosec // the servers may run as another user
}

// task runs a task in a separate process.
func task(ctx context.Context, self []string, task bench.Task) (string, error) {
	return output(ctx, ".", nil, self[0], append(slices.Clip(self[1:]), task.Text())...)
}
