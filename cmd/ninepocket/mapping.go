package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"ninepocket/loader"
)

// suggestFlags are the flags of mapping suggest.
type suggestFlags struct {
	sources       []string
	mapping, into string
	asJSON        bool
}

func mappingSuggest() *cobra.Command {
	var flags suggestFlags
	cmd := &cobra.Command{
		Use:   "suggest --source KIND:PATH… --into DIR",
		Short: "Propose what a mapping lacks: how many units sealed products hold",
		Long: "Reads the catalogs and writes DIR/sealed.csv with a row for each sealed product whose package is " +
			"known and whose\n" +
			"number of units no feed says, each with its reason. The numbers are what such packages usually hold:\n" +
			"review them, correct or delete rows, and build with --mapping DIR. An existing file is not touched.",
		Example: "  ninepocket mapping suggest --source tcgcsv:feed/current --into mapping",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return flags.run(cmd) },
	}

	f := cmd.Flags()
	f.StringArrayVar(&flags.sources, "source", nil, "catalog, `KIND:PATH`, as of a build")
	f.StringVar(&flags.mapping, "mapping", "", "`DIR` of the mapping that there is: what it knows is not proposed")
	f.StringVar(&flags.into, "into", "", "`DIR` that sealed.csv is written into")
	f.BoolVar(&flags.asJSON, "json", false, "print JSON")
	require(cmd, "source", "into")
	return cmd
}

// suggested is what mapping suggest prints.
type suggested struct {
	File    string         `json:"file"` // "" when there is nothing to propose
	Rows    int            `json:"rows"`
	Unknown map[string]int `json:"unknown"`
}

func (flags *suggestFlags) run(cmd *cobra.Command) error {
	options := loader.Options{Mapping: flags.mapping}
	var wrong problems
	for _, given := range flags.sources {
		input, err := loader.ParseInput(given)
		wrong.add(err)
		options.Sources = append(options.Sources, input)
	}
	if err := wrong.err(); err != nil {
		return fail(exitUsage, "", err)
	}

	name := filepath.Join(flags.into, "sealed.csv")
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		return fail(exitFailure, "move it away, or give another --into and what is there as --mapping",
			fmt.Errorf("cannot write %q: it is there", name))
	}

	progress := newProgress(cmd.ErrOrStderr(), flags.asJSON)
	options.Progress = progress.update
	found, err := loader.Suggest(cmd.Context(), options)
	progress.stop()
	if err != nil {
		return fail(exitFailure, "", err)
	}

	told := suggested{Rows: len(found.Rows), Unknown: found.Unknown}
	if len(found.Rows) > 0 {
		told.File = name
		var text bytes.Buffer
		err = errors.Join(found.Write(&text), os.MkdirAll(flags.into, 0o755)) //nolint:gosec // public knowledge
		if err == nil {
			err = os.WriteFile(name, text.Bytes(), 0o644) //nolint:gosec // as above
		}
		if err != nil {
			return fail(exitFailure, "", fmt.Errorf("cannot write %q: %w", name, err))
		}
	}
	return show(cmd, flags.asJSON, told, told.print)
}

func (told *suggested) print(out *bufio.Writer) {
	if told.File == "" {
		fmt.Fprintln(out, "nothing to propose")
	} else {
		fmt.Fprintf(out, "%d rows proposed in %s: review each reason, then build with --mapping %s\n", told.Rows,
			told.File, filepath.Dir(told.File))
	}
	printCounts(out, "still unknown", told.Unknown)
}
