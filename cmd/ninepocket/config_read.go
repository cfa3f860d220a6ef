package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/spf13/cobra"

	"ninepocket/internal/disk"
)

// envPrefix begins the environment variables that configure serve; levels are joined by __.
const envPrefix = "NINEPOCKET_"

// layered is a configuration that knows where each value came from: defaults < file < environment <
// flags.
type layered struct {
	config
	// By key: "ninepocket.toml:3", "environment NINEPOCKET_LISTEN", "flag --listen"; none: default.
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
	flags := &configFlags{cmd: cmd, values: defaultConfig()}
	cmd.Flags().StringVar(&flags.path, "config", "", "TOML configuration `FILE`")
	addFlags(cmd, &flags.values)
	return flags
}

// read merges all layers as they are now and validates the outcome; the error joins every problem.
func (flags *configFlags) read() (layered, error) {
	layered, err := readConfig(cmp.Or(flags.path, os.Getenv(envPrefix+"CONFIG")), os.Environ(), func(name string) {
		_, _ = fmt.Fprintf(flags.cmd.ErrOrStderr(),
			"note: environment variable %s is not a setting of ninepocket\n", name)
	})

	// Flags win over all others, and only those that were given.
	for _, s := range settings {
		if s.flag && flags.cmd.Flags().Changed(s.flagName()) {
			s.copyValue(&layered.config, &flags.values)
			layered.from[s.key] = "flag --" + s.flagName()
		}
	}
	return layered, errors.Join(err, layered.validate())
}

// readConfig merges defaults, the file (when given) and the environment; warn is told of variables
// that mean nothing. What could be read is returned with the error, which joins every problem.
func readConfig(path string, environ []string, warn func(name string)) (layered, error) {
	layered := layered{config: defaultConfig(), from: map[string]string{}}
	var wrong problems
	if path != "" {
		wrong.add(layered.readFile(path))
	}

	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		rest, ours := strings.CutPrefix(name, envPrefix)
		if !ours {
			continue
		}

		keys := strings.Split(strings.ToLower(rest), "__")
		s, chosen, whole := findSetting(keys)
		if rest == "CONFIG" {
			continue // names the file itself
		}
		if !whole {
			// Other programs make such names too: a service called ninepocket gets NINEPOCKET_PORT
			// from its cluster.
			warn(name)
			continue
		}
		err := setText(s.ptr(&layered.config, chosen), value)
		wrong.when(err != nil, "cannot use environment variable %s: %w", name, err)
		layered.from[dotted(s.path(chosen))] = "environment " + name
	}
	wrong.add(layered.noZeros())
	return layered, wrong.err()
}

// noZeros refuses limits of a plan that were given as 0: what is not given keeps its default, and a
// plan that admits nothing is none.
func (c *layered) noZeros() error {
	var wrong problems
	for _, s := range settings {
		if !s.named() {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
			key := dotted(s.path(name))
			from, given := c.from[key]
			n := reflect.ValueOf(s.ptr(&c.config, name)).Elem()
			wrong.when(given && n.CanInt() && n.Int() == 0,
				"cannot use %s (%s): 0 admits nothing; leave it out for the default, or revoke the keys", key, from)
		}
	}
	return wrong.err()
}

// readFile takes over what a TOML file says.
func (c *layered) readFile(path string) error {
	text, err := disk.ReadAny(disk.OS, path)
	if err != nil {
		return fmt.Errorf("cannot read configuration: %w", err)
	}
	// Some editors begin a file with a byte order mark.
	return c.readTOML(path, bytes.TrimPrefix(text, []byte("\uFEFF")))
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

	lines := strings.Split(string(text), "\n")
	var wrong problems
	for _, entry := range tomlEntries(text, tree) {
		err := c.take(entry, path)
		wrong.when(err != nil, "cannot read configuration %q: line %d: %w\n%4d | %s", path, entry.line, err, entry.line,
			redact(strings.TrimRight(lines[entry.line-1], "\r")))
	}
	return wrong.err()
}

// take sets the setting that one entry of a file means.
func (c *layered) take(entry tomlEntry, file string) error {
	s, name, whole := findSetting(entry.path)
	if !whole {
		return fmt.Errorf("unknown key %s", dotted(entry.path))
	}
	if _, table := entry.value.(map[string]any); table {
		return fmt.Errorf("%s must be a value, not a table", dotted(entry.path))
	}

	// A key may be spelt in two ways, which TOML takes for two keys.
	key := dotted(s.path(name))
	if before, twice := c.from[key]; twice {
		return fmt.Errorf("%s is also given at %s", dotted(entry.path), before)
	}
	if err := setTOML(s.ptr(&c.config, name), entry.value); err != nil {
		return fmt.Errorf("cannot use %s: %w", dotted(entry.path), err)
	}

	c.from[key] = fmt.Sprintf("%s:%d", file, entry.line)
	return nil
}

// tomlEntry is a key of a TOML document with its value.
type tomlEntry struct {
	path  []string
	line  int
	value any
}

// tomlEntries are the entries of a good document in its order: the keys that it gives, those in
// tables of settings too, with their values from its tree.
func tomlEntries(text []byte, tree map[string]any) (entries []tomlEntry) {
	var parser unstable.Parser
	parser.Reset(text)
	seen := map[string]bool{}

	// take follows a key or a header from the table that it stands in to the one that it leads to.
	var take func(path []string, values map[string]any, node *unstable.Node) ([]string, map[string]any)
	take = func(path []string, values map[string]any, node *unstable.Node) ([]string, map[string]any) {
		for levels := node.Key(); levels.Next(); {
			level := levels.Node()
			path = append(slices.Clone(path), string(level.Data))
			value := values[string(level.Data)]

			// A table of no setting is one problem, whatever is in it and wherever it goes on.
			inner, isTable := value.(map[string]any)
			if s, _, whole := findSetting(path); !isTable || s == nil || whole {
				if !seen[dotted(path)] {
					seen[dotted(path)] = true
					entries = append(entries, tomlEntry{path, parser.Shape(level.Raw).Start.Line, value})
				}
				return nil, nil
			}
			values = inner
		}

		if node.Kind == unstable.KeyValue {
			for keys := node.Value().Children(); keys.Next(); {
				take(path, values, keys.Node())
			}
		}
		return path, values
	}

	var table []string
	values := tree
	for parser.NextExpression() {
		node := parser.Expression()
		if node.Kind != unstable.KeyValue {
			table, values = take(nil, tree, node)
		} else if values != nil {
			take(table, values, node)
		}
	}
	return entries
}

// passwords finds what may be a password: it looks for the form only, because a URL that cannot be
// parsed holds one too, and rather takes too much of a line.
var passwords = regexp.MustCompile(`(://[^:\n]*:).*@`)

// parameters finds passwords that are parameters of a URL, or members of a connection string.
var parameters = regexp.MustCompile(`(?i)\b((?:ssl)?password\s*=\s*)[^&\s"]+`)

// redact hides passwords: redis://user:secret@host is redis://user:***@host, and ?password=secret is
// ?password=***.
func redact(text string) string {
	return parameters.ReplaceAllString(passwords.ReplaceAllString(text, "${1}***@"), "${1}***")
}
