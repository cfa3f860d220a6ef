package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"
)

// envPrefix begins the environment variables that configure serve; levels are joined by __.
const envPrefix = "NINEPOCKET_"

// layered is a configuration that knows where each value came from: defaults < file < environment < flags.
type layered struct {
	config
	from map[string]string // by key: "ninepocket.toml:3", "environment NINEPOCKET_LISTEN", "flag --listen"; none: the default
}

// configFlags are the flags that configure a server: --config, and one for each setting that has one.
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
	for i := range settings {
		if s := &settings[i]; s.flag && f.cmd.Flags().Changed(s.flagName()) {
			s.copyValue(&c.config, &f.values)
			c.from[s.key] = "flag --" + s.flagName()
		}
	}
	return c, errors.Join(err, c.validate())
}

// readConfig merges defaults, the file (when given) and the environment; warn is told of variables that mean nothing.
// What could be read is returned with the error, which joins every problem.
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
			// Other programs make such names too: a service called ninepocket gets NINEPOCKET_PORT from its cluster.
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
	entries, err := tomlEntries(text)
	if err != nil {
		return fmt.Errorf("cannot read configuration %q: %w", path, err)
	}
	lines := strings.Split(string(text), "\n")
	var problems []error
	for _, e := range entries {
		if err := c.take(e, path); err != nil {
			problems = append(problems, fmt.Errorf("cannot read configuration %q: line %d: %w\n%4d | %s", path, e.line, err,
				e.line, redact(strings.TrimRight(lines[e.line-1], "\r"))))
		}
	}
	return errors.Join(problems...)
}

// take sets the setting that one line of a file means.
func (c *layered) take(e tomlEntry, file string) error {
	s, name, whole := findSetting(e.path)
	switch {
	case e.table && s != nil && !whole:
		return nil
	case e.table && whole:
		return fmt.Errorf("%s is a value, not a table", dotted(e.path))
	case !whole:
		return fmt.Errorf("unknown key %s", dotted(e.path))
	}
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

// tomlEntry is a key with its value, or a table's header, of a TOML document.
type tomlEntry struct {
	path  []string
	line  int
	table bool
	value any
}

// tomlEntries reads a document into its entries, in order.
func tomlEntries(text []byte) ([]tomlEntry, error) {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := bad.Position()
			return nil, fmt.Errorf("line %d, column %d: %s\n%s", row, column, bad.Error(), redactLines(bad.String()))
		}
		return nil, err
	}
	// The tree has the values, typed and free of duplicates, but only the parser knows the lines.
	var entries []tomlEntry
	var parser unstable.Parser
	parser.Reset(text)
	var table []string
	for parser.NextExpression() {
		node := parser.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			path, line := keyOf(&parser, node)
			table = path
			entries = append(entries, tomlEntry{path: path, line: line, table: true})
		case unstable.KeyValue:
			entries = appendEntries(entries, &parser, node, table)
		default: // comments
		}
	}
	for i := range entries {
		entries[i].value = lookup(tree, entries[i].path)
	}
	return entries, parser.Error()
}

// appendEntries adds a key's entry, or those of its inline table.
func appendEntries(entries []tomlEntry, p *unstable.Parser, node *unstable.Node, table []string) []tomlEntry {
	path, line := keyOf(p, node)
	path = slices.Concat(table, path)
	if node.Value().Kind != unstable.InlineTable {
		return append(entries, tomlEntry{path: path, line: line})
	}
	entries = append(entries, tomlEntry{path: path, line: line, table: true})
	for fields := node.Value().Children(); fields.Next(); {
		entries = appendEntries(entries, p, fields.Node(), path)
	}
	return entries
}

func keyOf(p *unstable.Parser, node *unstable.Node) (path []string, line int) {
	for keys := node.Key(); keys.Next(); {
		key := keys.Node()
		if line == 0 {
			line = p.Shape(key.Raw).Start.Line
		}
		path = append(path, string(key.Data))
	}
	return path, line
}

func lookup(tree map[string]any, path []string) any {
	var v any = tree
	for _, key := range path {
		table, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = table[key]
	}
	return v
}

// redactLines redacts each line of a text.
func redactLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = redact(lines[i])
	}
	return strings.Join(lines, "\n")
}

// redact hides what may be a password in a line: redis://user:secret@host is redis://user:***@host. It looks for the
// form only, because a URL that cannot be parsed holds a password too, and rather hides too much.
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
