package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/snapshot/guard"
)

// setting is one key of the configuration. Flags, the file, the environment, `config print` and
// `config init` all read one table of settings, so none of them can have another key, help or
// default.
type setting struct {
	// key is its name in the file, levels joined by dots. A level in capitals stands for a name
	// that the operator chooses: plans.NAME.per_minute.
	key string
	// help says what it is; a flag calls its value what stands in backquotes.
	help string
	flag bool // also a flag of serve, spelt with dashes
	// ptr returns where the value is: *string, *bool, *int, *int64, *float64 or *[]string. The
	// operator chose name.
	ptr func(c *config, name string) any
}

// settings lists all keys, table by table. Keys outside any table come first, as TOML wants it.
// They are the fields of config by their tags, the guards by their names, and the fields of a plan.
var settings = slices.Concat(
	fields[config]("", func(c *config, _ string) *config { return c }),
	fields[feedConfig]("feed.", func(c *config, _ string) *feedConfig { return &c.Feed }),
	fields[dailyConfig]("daily.", func(c *config, _ string) *dailyConfig { return &c.Daily }),
	fields[fleetConfig]("fleet.", func(c *config, _ string) *fleetConfig { return &c.Fleet }),
	fields[mcpConfig]("mcp.", func(c *config, _ string) *mcpConfig { return &c.MCP }),
	guardSettings(),
	fields[planConfig]("plans.NAME.", (*config).plan),
)

// fields are the tagged fields of a struct, which find finds in a configuration. The tag toml is
// the key. The tag help says what the setting is; a setting that is also a flag has the tag flag
// instead. In either one, < and > stand around the name of the value.
func fields[T any](prefix string, find func(c *config, name string) *T) (all []*setting) {
	for field := range reflect.TypeFor[T]().Fields() {
		key := field.Tag.Get("toml")
		if key == "" {
			continue
		}

		help, isFlag := field.Tag.Lookup("flag")
		help = cmp.Or(help, field.Tag.Get("help"))
		all = append(all, &setting{
			key: prefix + key, help: strings.NewReplacer("<", "`", ">", "`").Replace(help), flag: isFlag,
			ptr: func(c *config, name string) any {
				return reflect.ValueOf(find(c, name)).Elem().FieldByIndex(field.Index).Addr().Interface()
			},
		})
	}
	return all
}

// guardSettings are the keys of the [guards] table, one a guard.
func guardSettings() (all []*setting) {
	for _, g := range guard.Describe() {
		all = append(all, &setting{
			key: "guards." + g.Name, help: g.Help,
			ptr: func(c *config, _ string) any { return c.Guards[g.Name] },
		})
	}
	return all
}

// plan returns the changes to a plan, to be filled in.
func (c *config) plan(name string) *planConfig {
	if c.Plans == nil {
		c.Plans = map[string]*planConfig{}
	}
	if c.Plans[name] == nil {
		c.Plans[name] = &planConfig{}
	}
	return c.Plans[name]
}

// levels are the parts of the key.
func (s *setting) levels() []string { return strings.Split(s.key, ".") }

// named reports whether the operator chooses a name in the key, which is that of a plan.
func (s *setting) named() bool { return slices.ContainsFunc(s.levels(), chosen) }

// flagName is the key as a flag.
func (s *setting) flagName() string { return strings.ReplaceAll(s.key, "_", "-") }

// envName is the environment variable that sets the key.
func (s *setting) envName() string {
	return envPrefix + strings.ToUpper(strings.Join(s.levels(), "__"))
}

// path is the key with the chosen name in its place.
func (s *setting) path(name string) []string {
	path := s.levels()
	if level := slices.IndexFunc(path, chosen); level >= 0 {
		path[level] = name
	}
	return path
}

// chosen reports whether a level of a key stands for a name that the operator chooses.
func chosen(level string) bool { return level == strings.ToUpper(level) }

// findSetting returns the setting that path means and the name chosen in it. Whole is false for the
// beginning of one, such as a table's header.
func findSetting(path []string) (found *setting, name string, whole bool) {
	for _, s := range settings {
		levels := s.levels()
		if len(path) > len(levels) {
			continue
		}

		picked := ""
		matches := slices.EqualFunc(path, levels[:len(path)], func(given, level string) bool {
			if chosen(level) {
				picked = given
				return given != ""
			}

			// Also spelt as its flag.
			return strings.ReplaceAll(given, "-", "_") == level
		})
		if matches && len(path) == len(levels) {
			return s, picked, true
		}
		if matches {
			found = s
		}
	}
	return found, "", false
}

// addFlags defines the flags of the settings with these keys, or of all that have one, on values of
// c.
func addFlags(cmd *cobra.Command, c *config, keys ...string) {
	f := cmd.Flags()
	for _, s := range settings {
		if !s.flag || len(keys) > 0 && !slices.Contains(keys, s.key) {
			continue
		}

		switch ptr := s.ptr(c, "").(type) {
		case *string:
			f.StringVar(ptr, s.flagName(), *ptr, s.help)
		case *bool:
			f.BoolVar(ptr, s.flagName(), *ptr, s.help)
		case *int:
			f.IntVar(ptr, s.flagName(), *ptr, s.help)
		default:
			// A mistake in the tags.
			panic("flag of a kind that no flag has: " + s.key)
		}
	}
}

// copyValue takes over the value of one setting from another configuration.
func (s *setting) copyValue(to, from *config) {
	reflect.ValueOf(s.ptr(to, "")).Elem().Set(reflect.ValueOf(s.ptr(from, "")).Elem())
}

// value is the setting's value, as TOML and JSON have it.
func (s *setting) value(c *config, name string) any {
	v := reflect.ValueOf(s.ptr(c, name)).Elem().Interface()
	if list, ok := v.([]string); ok {
		return append([]string{}, list...)
	}
	return v
}

// fixedChanges are the keys that differ in another configuration and that a running server cannot
// take over. It takes over plans, and it does not ask what is for building and publishing.
func (c *config) fixedChanges(other *config) (keys []string) {
	for _, s := range settings {
		table := s.levels()[0]
		if s.named() || table == "guards" || table == "feed" || table == "daily" {
			continue
		}
		if tomlValue(s.value(c, "")) != tomlValue(s.value(other, "")) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// wanted says what a file must give for a value of a kind.
var wanted = map[reflect.Kind]string{
	reflect.String: "text in quotes", reflect.Bool: "true or false", reflect.Int: "an integer",
	reflect.Int64: "an integer", reflect.Float64: "a number",
}

// setTOML sets a value to what a TOML file says.
func setTOML(ptr, v any) error {
	if list, ok := ptr.(*[]string); ok {
		items, isList := v.([]any)
		texts := make([]string, len(items))
		for i := range items {
			if setTOML(&texts[i], items[i]) != nil {
				isList = false
			}
		}
		if !isList {
			return errors.New("want a list of texts in quotes")
		}
		*list = texts
		return nil
	}

	// A number may be written without a fraction.
	if n, ok := v.(int64); ok && reflect.TypeOf(ptr).Elem().Kind() == reflect.Float64 {
		v = float64(n)
	}
	if number, ok := v.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
		return errors.New("want a finite number")
	}

	// The reader has one kind of integer; otherwise the kinds must be equal.
	to := reflect.ValueOf(ptr).Elem()
	given := reflect.ValueOf(v)
	if given.Kind() != to.Kind() && (given.Kind() != reflect.Int64 || to.Kind() != reflect.Int) {
		return errors.New("want " + wanted[to.Kind()])
	}
	to.Set(given.Convert(to.Type()))
	return nil
}

// setText sets a value to what an environment variable says; lists are separated by commas.
func setText(ptr any, text string) error {
	var v any
	var err error
	want := ""
	switch ptr.(type) {
	case *string:
		v = text
	case *bool:
		want = "neither true nor false"
		v, err = strconv.ParseBool(text)
	case *int, *int64:
		want = "not an integer"
		v, err = strconv.ParseInt(text, 10, 64)
	case *float64:
		want = "not a number"
		v, err = strconv.ParseFloat(text, 64)
	case *[]string:
		list := []any{}
		for item := range strings.SplitSeq(text, ",") {
			item = strings.TrimSpace(item)
			if item != "" {
				list = append(list, item)
			}
		}
		v = list
	}

	if err != nil {
		return fmt.Errorf("%q is %s", text, want)
	}
	return setTOML(ptr, v)
}
