package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/cobra"
)

// envPrefix begins the environment variables that configure serve; levels are joined by __.
const envPrefix = "NINEPOCKET_"

// layered is a configuration that knows where each value came from: defaults < file < environment <
// flags.
type layered struct {
	config
	// by key: "ninepocket.toml:3", "environment NINEPOCKET_LISTEN", "flag --listen"; none: the default
	from map[string]string
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

	// Flags win over all other layers. Only flags that were given count.
	for i := range settings {
		if s := &settings[i]; s.flag && f.cmd.Flags().Changed(s.flagName()) {
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
			err = fmt.Errorf("line %d, column %d: %s\n%s", row, column, bad.Error(), redactLines(bad.String()))
		}
		return fmt.Errorf("cannot read configuration %q: %w", path, err)
	}

	// The tree has the values, without an order; problems are told in the order of the file.
	entries := tomlEntries(tree, nil, tomlLines(text))
	slices.SortStableFunc(entries, func(a, b tomlEntry) int { return cmp.Compare(a.line, b.line) })

	lines := strings.Split(string(text), "\n")
	var problems []error
	for _, e := range entries {
		err := c.take(e, path)
		if err != nil && e.line > 0 {
			shown := redact(strings.TrimRight(lines[e.line-1], "\r"))
			err = fmt.Errorf("line %d: %w\n%4d | %s", e.line, err, e.line, shown)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot read configuration %q: %w", path, err))
		}
	}
	return errors.Join(problems...)
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

	c.from[key] = file
	if e.line > 0 {
		c.from[key] = fmt.Sprintf("%s:%d", file, e.line)
	}
	return nil
}

// tomlEntry is a key of a TOML document with its value.
type tomlEntry struct {
	path  []string
	line  int
	value any
}

// tomlEntries lists the keys of a table and of the tables in it that settings know.
func tomlEntries(table map[string]any, above []string, lines []tomlEntry) (entries []tomlEntry) {
	for key, value := range table {
		path := append(slices.Clone(above), key)
		inner, isTable := value.(map[string]any)
		// A table that no setting has is one problem, whatever is in it.
		if s, _, whole := findSetting(path); isTable && s != nil && !whole {
			entries = append(entries, tomlEntries(inner, path, lines)...)
			continue
		}

		entries = append(entries, tomlEntry{path, lineOf(path, lines), value})
	}
	return entries
}

// tomlLines are the keys of a document with their lines. A strict reader tells the place of every
// key that it does not know, and this one knows the tables alone.
func tomlLines(text []byte) (lines []tomlEntry) {
	var tables struct {
		MCP, Guards struct{}
		Plans       map[string]struct{}
	}

	err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&tables)
	add := func(e *toml.DecodeError) {
		row, _ := e.Position()
		lines = append(lines, tomlEntry{path: e.Key(), line: row})
	}

	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		for i := range strict.Errors {
			add(&strict.Errors[i])
		}
	} else if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		// A table's name with a value, behind which no line is known.
		add(wrong)
	}
	return lines
}

// lineOf is the line of a key, 0 when it is not certain. The reader names a key of an inline table
// without the table. It does not name what is in an unknown table.
func lineOf(path []string, lines []tomlEntry) int {
	found := 0
	for _, l := range lines {
		if slices.Equal(path, l.path) {
			return l.line
		}
		if abridged(path, l.path) {
			if found != 0 {
				return 0
			}
			found = l.line
		}
	}
	return found
}

// abridged reports whether the reader may mean a path by a name: the path without some levels in
// the middle, or the path of a table by a key in it.
func abridged(path, name []string) bool {
	if len(name) > len(path) {
		return slices.Equal(path, name[:len(path)])
	}

	for k := range len(name) {
		if slices.Equal(path[:k], name[:k]) && slices.Equal(path[len(path)-len(name)+k:], name[k:]) {
			return true
		}
	}
	return false
}

// redactLines redacts each line of a text.
func redactLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = redact(lines[i])
	}
	return strings.Join(lines, "\n")
}

// redact hides what may be a password in a line: redis://user:secret@host is redis://user:***@host.
// It looks for the form only, because a URL that cannot be parsed holds a password too, and rather
// hides too much.
func redact(line string) string {
	scheme := strings.Index(line, "://")
	at := strings.LastIndexByte(line, '@')
	if scheme < 0 || at < scheme+len("://") {
		return line
	}

	user := scheme + len("://")
	colon := strings.IndexByte(line[user:at], ':')
	if colon < 0 {
		return line
	}
	return line[:user+colon] + ":***" + line[at:]
}
