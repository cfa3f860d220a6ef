package settings

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"ninepocket/access/keys"
	"ninepocket/internal/disk"
)

// EnvPrefix begins the environment variables that are settings; __ separates levels.
const EnvPrefix = "NINEPOCKET_"

// Merged is a configuration with the origin of each value: defaults < file < environment < flags.
type Merged struct {
	Config
	// origins are by key: "ninepocket.toml:3", "environment NINEPOCKET_LISTEN", "flag --listen";
	// none for a default.
	origins map[string]string
}

// Origin returns the origin of a key's value, "" for the default.
func (c *Merged) Origin(key string) string { return c.origins[key] }

// Text returns the value of a key as a flag takes it, with its origin.
func (c *Merged) Text(key string) (value, origin string) {
	v := reflect.ValueOf(ByKey(key).Pointer(&c.Config, "")).Elem().Interface()
	if list, is := v.([]string); is {
		return strings.Join(list, ","), c.origins[key]
	}
	return fmt.Sprint(v), c.origins[key]
}

// Override sets one setting to its value in from, with an origin.
func (c *Merged) Override(setting *Setting, from *Config, origin string) {
	reflect.ValueOf(setting.Pointer(&c.Config, "")).Elem().Set(reflect.ValueOf(setting.Pointer(from, "")).Elem())
	c.origins[setting.Key] = origin
}

// File returns the configuration file: the given one, else that of the environment; "" for none.
func File(given string) string { return cmp.Or(given, os.Getenv(EnvPrefix+"CONFIG")) }

// Plans returns the plans of the file and the environment, or the built-in ones without either.
func Plans(given string) (keys.Plans, error) {
	configured, err := ReadWithEnv(given)
	if err != nil {
		return nil, err
	}
	return configured.PlanTable()
}

// ReadWithEnv merges defaults, the file and this process's environment, as Read does. Unknown
// variables are ignored: serve reports them.
func ReadWithEnv(given string) (Merged, error) {
	return Read(File(given), os.Environ(), func(string) {})
}

// Read merges defaults, the file (if given) and the environment; warn is called with unknown
// variables. The result has everything that could be read. The error joins every problem.
func Read(path string, environ []string, warn func(name string)) (Merged, error) {
	out := Merged{Config: Default(), origins: map[string]string{}}
	var wrong Problems
	if path != "" {
		wrong.Add(out.readFile(path))
	}

	// Sorted, so that two runs report problems in the same order.
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		// CONFIG names the file itself.
		if !strings.HasPrefix(name, EnvPrefix) || name == EnvPrefix+"CONFIG" {
			continue
		}

		setting, chosen, whole := findSetting(variablePath(name))
		if !whole {
			// Other programs set such names too: a service called ninepocket gets NINEPOCKET_PORT
			// from its cluster.
			warn(name)
			continue
		}
		err := setText(setting.Pointer(&out.Config, chosen), value)
		wrong.AddIf(err != nil, "cannot use environment variable %s: %w", name, err)
		out.origins[dotted(setting.path(chosen))] = "environment " + name
	}
	wrong.Add(out.checkZeroLimits())
	return out, wrong.Err()
}

// checkZeroLimits refuses limits of a plan that are given as 0: an omitted limit keeps its default,
// and a plan that admits nothing is useless.
func (c *Merged) checkZeroLimits() error {
	var wrong Problems
	for _, setting := range Settings {
		// Elsewhere 0 is a valid value.
		if !setting.hasPlaceholder() || setting.Key == "plans.NAME.included" {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
			key := dotted(setting.path(name))
			from, given := c.origins[key]
			n := reflect.ValueOf(setting.Pointer(&c.Config, name)).Elem()
			wrong.AddIf(given && n.CanInt() && n.Int() == 0,
				"cannot use %s (%s): 0 admits nothing; leave it out for the default, or revoke the keys", key, from)
		}
	}
	return wrong.Err()
}

// readFile merges a TOML file.
func (c *Merged) readFile(path string) error {
	text, err := disk.ReadAny(disk.OS, path)
	if err != nil {
		return fmt.Errorf("cannot read configuration: %w", err)
	}
	// Some editors begin a file with a byte order mark.
	return c.readTOML(path, bytes.TrimPrefix(text, []byte("\uFEFF")))
}

// readTOML merges the text of a file. The error names every invalid line.
func (c *Merged) readTOML(path string, text []byte) error {
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
			row, column := bad.Position()
			err = fmt.Errorf("line %d, column %d: %s\n%s", row, column, bad.Error(), redactLines(bad.String()))
		}
		return fmt.Errorf("cannot read configuration %q: %w", path, err)
	}

	// An error shows its line.
	lines := strings.Split(string(text), "\n")
	var wrong Problems
	for _, entry := range tomlEntries(text, tree) {
		err := c.set(entry, path)
		wrong.AddIf(err != nil, "cannot read configuration %q: line %d: %w\n%4d | %s", path, entry.line, err,
			entry.line,
			redactLines(strings.TrimRight(lines[entry.line-1], "\r")))
	}
	return wrong.Err()
}

// set sets the setting of one entry of a file.
func (c *Merged) set(entry tomlEntry, file string) error {
	setting, name, whole := findSetting(entry.path)
	if !whole {
		return fmt.Errorf("unknown key %s%s", dotted(entry.path), meant(nearestKey(entry.path)))
	}
	// For example [listen].
	if _, table := entry.value.(map[string]any); table {
		return fmt.Errorf("%s must be a value, not a table", dotted(entry.path))
	}

	// A key may have two spellings, which are two keys for TOML.
	key := dotted(setting.path(name))
	if before, twice := c.origins[key]; twice {
		return fmt.Errorf("%s is also given at %s", dotted(entry.path), before)
	}
	if err := setTOML(setting.Pointer(&c.Config, name), entry.value); err != nil {
		return fmt.Errorf("cannot use %s: %w", dotted(entry.path), err)
	}

	c.origins[key] = fmt.Sprintf("%s:%d", file, entry.line)
	return nil
}

// tomlEntry is a key of a TOML document with its value.
type tomlEntry struct {
	path  []string
	line  int
	value any
}

// tomlEntries returns the entries of a valid document in order: its keys, also those in tables of
// settings, with their values from its tree.
func tomlEntries(text []byte, tree map[string]any) (entries []tomlEntry) {
	var parser unstable.Parser
	parser.Reset(text)
	seen := map[string]bool{}

	// take follows a key or a header from its table to the table that it names.
	var take func(path []string, values map[string]any, node *unstable.Node) ([]string, map[string]any)
	take = func(path []string, values map[string]any, node *unstable.Node) ([]string, map[string]any) {
		for levels := node.Key(); levels.Next(); {
			level := levels.Node()
			path = append(slices.Clone(path), string(level.Data))
			value := values[string(level.Data)]

			// An unknown table is one problem, whatever it has and wherever it continues.
			inner, isTable := value.(map[string]any)
			if setting, _, whole := findSetting(path); !isTable || setting == nil || whole {
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
