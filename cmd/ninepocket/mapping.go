package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/loader"
	"ninepocket/snapshot"
)

// suggestFlags are the flags of mapping suggest.
type suggestFlags struct {
	sources       []string
	mapping, into string
	store         string
	asJSON        bool
}

func mappingSuggest() *cobra.Command {
	var flags suggestFlags
	cmd := &cobra.Command{
		Use:   "suggest --source KIND:PATH… --into DIR",
		Short: "Propose what a mapping lacks: units of sealed products, sets that are the same",
		Long: "Reads the catalogs and writes DIR/sealed.csv with a row for each sealed product whose package is " +
			"known and whose\n" +
			"number of units no feed says, each with its reason. The numbers are what such packages usually hold:\n" +
			"review them, correct or delete rows, and build with --mapping DIR. Of several sources, sets of a later\n" +
			"one that share cards with a set of an earlier one, and were not found to be the same, are proposed in\n" +
			"DIR/aliases.csv. With --store, cards of its current snapshot that no source lists any more, and whose\n" +
			"set, number and name a new card has, are proposed there too. An existing file is not touched.",
		Example: "  ninepocket mapping suggest --source tcgcsv:feed/current --into mapping",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringArrayVar(&flags.sources, "source", nil, "catalog, `KIND:PATH`, as of a build")
	f.StringVar(&flags.mapping, "mapping", "", "`DIR` of the mapping that there is: what it knows is not proposed")
	f.StringVar(&flags.store, "store", "", "snapshot store `DIR`: cards of its current snapshot are compared")
	f.StringVar(&flags.into, "into", "", "`DIR` that sealed.csv and aliases.csv are written into")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	require(cmd, "source", "into")
	return cmd
}

// suggestResult is the output of mapping suggest.
type suggestResult struct {
	File      string         `json:"file"` // "" if there is nothing to propose
	Rows      int            `json:"rows"`
	Open      int            `json:"open"`       // rows without a number
	AliasFile string         `json:"alias_file"` // likewise
	Aliases   int            `json:"aliases"`
	Unknown   map[string]int `json:"unknown"`
	Apart     int            `json:"sets_apart"` // sets of later sources without a proposal
}

func (flags *suggestFlags) run(cmd *cobra.Command) error {
	options := loader.Options{Mapping: flags.mapping}
	var wrong settings.Problems
	options.Sources = wrong.ParseInputs(flags.sources)
	wrong.Add(settings.CheckFolder("store", flags.store))
	if err := wrong.Err(); err != nil {
		return fail(exitUsage, "", err)
	}

	sealed := filepath.Join(flags.into, "sealed.csv")
	aliases := filepath.Join(flags.into, "aliases.csv")
	// Checked before minutes of reading: existing files may have been reviewed.
	for _, name := range []string{sealed, aliases} {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			return fail(exitFailure, "move it away, or give another --into and what is there as --mapping",
				fmt.Errorf("cannot write %q: it is there", name))
		}
	}

	progress := term.NewProgress(cmd.ErrOrStderr(), flags.asJSON)
	options.Progress = progress.Update
	if flags.store != "" {
		store := snapshot.OpenStore(flags.store)
		cur, err := store.Current()
		if err == nil {
			options.Base, err = store.Load(cmd.Context(), cur.ID, nil)
		}
		if err != nil {
			return fail(exitFailure, "", fmt.Errorf("cannot compare with store %q: %w", flags.store, err))
		}
	}
	found, err := loader.Suggest(cmd.Context(), options)
	progress.Stop()
	if err != nil {
		return fail(exitFailure, "", err)
	}

	result := suggestResult{
		Rows: len(found.Rows), Open: found.Open, Aliases: len(found.Aliases), Unknown: found.Unknown,
		Apart: found.Unmatched,
	}
	if result.Rows > 0 {
		result.File = sealed
		err = writeProposal(sealed, found.Write)
	}
	if err == nil && result.Aliases > 0 {
		result.AliasFile = aliases
		err = writeProposal(aliases, found.WriteAliases)
	}
	if err != nil {
		return fail(exitFailure, "", err)
	}
	return printResult(cmd, flags.asJSON, result, result.print)
}

// writeProposal writes a file of a mapping.
func writeProposal(name string, content func(io.Writer) error) error {
	var text bytes.Buffer
	err := errors.Join(content(&text), os.MkdirAll(filepath.Dir(name), 0o755)) //nolint:gosec // public knowledge
	if err == nil {
		err = os.WriteFile(name, text.Bytes(), 0o644) //nolint:gosec // as above
	}
	if err != nil {
		return fmt.Errorf("cannot write %q: %w", name, err)
	}
	return nil
}

func (result *suggestResult) print(out *bufio.Writer) {
	if result.File+result.AliasFile == "" {
		fmt.Fprintln(out, "nothing to propose")
	}
	if result.File != "" {
		fmt.Fprintf(out, "%d rows proposed in %s: review each reason, then build with --mapping %s\n", result.Rows,
			result.File, filepath.Dir(result.File))
		if result.Open > 0 {
			fmt.Fprintf(out, "%d of them have no number: fill it in, or the product stays out\n", result.Open)
		}
	}

	if result.AliasFile != "" {
		fmt.Fprintf(out, "%d sets or cards are proposed to be the same as others in %s: an alias joins them "+
			"for good, so look at each\n", result.Aliases, result.AliasFile)
	}

	printCounts(out, "still unknown", result.Unknown)
	if result.Apart > 0 {
		fmt.Fprintf(out, "sets of later sources that are like none of an earlier one: %d\n", result.Apart)
	}
}
