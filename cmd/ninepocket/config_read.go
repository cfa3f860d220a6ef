package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"
)

// envPrefix begins the environment variables that configure serve; levels are joined by __.
const envPrefix = "NINEPOCKET_"

// layered is a configuration that knows where each value came from: defaults < file < environment <
// flags.
type layered struct {
	config
	from map[string]string // by key: "ninepocket.toml:3", "environment NINEPOCKET_LISTEN", "flag --listen"; none: the default
}

// configFlags are the flags that configure a server: --config, and one for each setting that has
// one.
type configFlags struct {
	cmd    *cobra.Command
	path   string
	values config
}

func addConfigFlags(cmd *cobra.Command) *configFlags {
	f := &configFlags{cmd: cmd, values: defaultConfig()}
	cmd.Flags().StringVar(&f.path, "config", "", "TOML configuration `FILE`")
	addFlags(cmd, &f.values)
	return f
}

// read merges all layers as they are now and validates the outcome; the error joins every problem.
func (f *configFlags) read() (layered, error) {
	c, err := readConfig(f.path, os.Environ(), func(name string) {
		_, _ = fmt.Fprintf(f.cmd.ErrOrStderr(), "note: environment variable %s is not a setting of ninepocket\n", name)
	})

	// Flags win over all others, and only those that were given.
	for _, s := range settings {
		if s.flag && f.cmd.Flags().Changed(s.flagName()) {
			s.copyValue(&c.config, &f.values)
			c.from[s.key] = "flag --" + s.flagName()
		}
	}
	return c, errors.Join(err, c.validate())
}

// readConfig merges defaults, the file (when given) and the environment; warn is told of variables
// that mean nothing. What could be read is returned with the error, which joins every problem.
func readConfig(path string, environ []string, warn func(name string)) (layered, error) {
	c := layered{config: defaultConfig(), from: map[string]string{}}
	var problems []error
	if path != "" {
		problems = append(problems, c.readFile(path))
	}

	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}

		keys := strings.Split(strings.ToLower(rest), "__")
		s, chosen, whole := findSetting(keys)
		if !whole {
			// Other programs make such names too: a service called ninepocket gets NINEPOCKET_PORT
			// from its cluster.
			warn(name)
			continue
		}
		if err := setText(s.at(&c.config, chosen), value); err != nil {
			problems = append(problems, fmt.Errorf("cannot use environment variable %s: %w", name, err))
			continue
		}
		c.from[dotted(s.path(chosen))] = "environment " + name
	}
	return c, errors.Join(problems...)
}

// readFile takes over what a TOML file says.
func (c *layered) readFile(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read configuration: %w", err)
	}
	return c.readTOML(path, text)
}

// readTOML takes over what the text of a file says, naming every line that is wrong.
func (c *layered) readTOML(path string, text []byte) error {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := bad.Position()
			err = fmt.Errorf("line %d, column %d: %s\n%s", row, column, bad.Error(), redact(bad.String()))
		}
		return fmt.Errorf("cannot read configuration %q: %w", path, err)
	}

	// The tree has the values, without an order; problems are told in the order of the file.
	entries := tomlEntries(tree, nil, tomlLines(text))
	slices.SortStableFunc(entries, func(a, b tomlEntry) int { return cmp.Compare(a.line, b.line) })

	lines := strings.Split(string(text), "\n")
	var wrong problems
	for _, e := range entries {
		err := c.take(e, path)
		wrong.when(err != nil, "cannot read configuration %q: line %d: %w\n%4d | %s", path, e.line, err, e.line,
			redact(strings.TrimRight(lines[e.line-1], "\r")))
	}
	return wrong.err()
}

// take sets the setting that one entry of a file means.
func (c *layered) take(e tomlEntry, file string) error {
	s, name, whole := findSetting(e.path)
	if !whole {
		return fmt.Errorf("unknown key %s", dotted(e.path))
	}
	if _, table := e.value.(map[string]any); table {
		return fmt.Errorf("%s is a value, not a table", dotted(e.path))
	}

	// A key may be spelt in two ways, which TOML takes for two keys.
	key := dotted(s.path(name))
	if before, twice := c.from[key]; twice {
		return fmt.Errorf("%s is also given at %s", dotted(e.path), before)
	}
	if err := setTOML(s.at(&c.config, name), e.value); err != nil {
		return fmt.Errorf("cannot use %s: %w", dotted(e.path), err)
	}

	c.from[key] = fmt.Sprintf("%s:%d", file, e.line)
	return nil
}

// tomlEntry is a key of a TOML document with its value.
type tomlEntry struct {
	path  []string
	line  int
	value any
}

// tomlEntries are the entries of a table: its keys, and those of the tables in it that settings
// have, too.
func tomlEntries(table map[string]any, above []string, lines map[string]int) (entries []tomlEntry) {
	for key, value := range table {
		path := append(slices.Clone(above), key)
		inner, isTable := value.(map[string]any)
		// A table that no setting has is one problem, whatever is in it.
		if s, _, whole := findSetting(path); isTable && s != nil && !whole {
			entries = append(entries, tomlEntries(inner, path, lines)...)
			continue
		}

		entries = append(entries, tomlEntry{path, lines[dotted(path)], value})
	}
	return entries
}

// tomlLines are the lines on which the keys and tables of a good document are first named, by their
// spelt paths.
func tomlLines(text []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(text)

	// take takes down a key, the tables that it leads through, and the keys of an inline table.
	var take func(above []string, e *unstable.Node) (path []string)
	take = func(above []string, e *unstable.Node) (path []string) {
		path = slices.Clone(above)
		for levels := e.Key(); levels.Next(); {
			level := levels.Node()
			path = append(path, string(level.Data))
			if _, known := lines[dotted(path)]; !known {
				lines[dotted(path)] = p.Shape(level.Raw).Start.Line
			}
		}

		if e.Kind == unstable.KeyValue && e.Value().Kind == unstable.InlineTable {
			for keys := e.Value().Children(); keys.Next(); {
				take(path, keys.Node())
			}
		}
		return path
	}

	var table []string
	for p.NextExpression() {
		if e := p.Expression(); e.Kind == unstable.KeyValue {
			take(table, e)
		} else {
			// A header stands for the keys below it.
			table = take(nil, e)
		}
	}
	return lines
}

// passwords finds what may be a password: it looks for the form only, because a URL that cannot be
// parsed holds one too, and rather takes too much of a line.
var passwords = regexp.MustCompile(`(://[^:\n]*:).*@`)

// redact hides passwords: redis://user:secret@host is redis://user:***@host.
func redact(text string) string { return passwords.ReplaceAllString(text, "${1}***@") }
