package settings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
	"ninepocket/snapshot/guard"
)

// Setting is one key of the configuration. Flags, the file, the environment, `config print` and
// `config init` all use one table of settings, so none of them can have another key, help or
// default.
type Setting struct {
	// Key is its name in the file, levels joined by dots. A level in capitals stands for a name
	// that the operator chooses: plans.NAME.per_minute.
	Key string
	// Help describes it; the text in backquotes is the name of a flag's value.
	Help string
	Flag bool // also a flag of serve, with dashes
	// public is "" unless a support bundle may have the value, see Public.
	public string
	// Pointer returns a pointer to the value: *string, *bool, *int, *int64, *float64 or *[]string, or **bool
	// for one that may be left out.
	// name is the one that the operator chose.
	Pointer func(config *Config, name string) any
}

// Settings lists all keys, table by table. Keys outside any table come first, as TOML requires.
// They are the fields of Config by their tags, the guards by their names, and the fields of a plan.
var Settings = slices.Concat(
	fields("", reflect.TypeFor[Config](), func(config *Config, _ string) any { return config }),
	guardSettings(),
	fields("plans.NAME.", reflect.TypeFor[Plan](), func(config *Config, name string) any { return config.plan(name) }),
)

// fields returns the settings of a struct and of the tables in it. find finds a pointer to the struct in
// a configuration. The tag toml is the key. The tag help describes the setting; a setting that is also a
// flag has the tag flag instead. In both, < and > enclose the name of the value.
func fields(prefix string, of reflect.Type, find func(config *Config, name string) any) (all []*Setting) {
	for field := range of.Fields() {
		pointer := func(config *Config, name string) any {
			return reflect.ValueOf(find(config, name)).Elem().FieldByIndex(field.Index).Addr().Interface()
		}
		if field.Type.Kind() == reflect.Struct {
			all = append(all, fields(strings.ToLower(field.Name)+".", field.Type, pointer)...)
		}
		key := field.Tag.Get("toml")
		if key == "" {
			continue
		}

		help, isFlag := field.Tag.Lookup("flag")
		help = cmp.Or(help, field.Tag.Get("help"))
		all = append(all, &Setting{
			Key: prefix + key, Help: strings.NewReplacer("<", "`", ">", "`").Replace(help), Flag: isFlag,
			public: field.Tag.Get("public"), Pointer: pointer,
		})
	}
	return all
}

// guardSettings returns the keys of the [guards] table, one a guard.
func guardSettings() (all []*Setting) {
	for _, g := range guard.Describe() {
		all = append(all, &Setting{
			Key: "guards." + g.Name, Help: g.Help, public: "yes",
			Pointer: func(config *Config, _ string) any { return config.Guards[g.Name] },
		})
	}
	return all
}

// plan returns the changes to a plan, to be set.
func (c *Config) plan(name string) *Plan {
	if c.Plans == nil {
		c.Plans = map[string]*Plan{}
	}
	if c.Plans[name] == nil {
		c.Plans[name] = &Plan{}
	}
	return c.Plans[name]
}

// levels returns the parts of the key.
func (s *Setting) levels() []string { return strings.Split(s.Key, ".") }

// hasPlaceholder reports whether the operator chooses a name in the key, that of a plan.
func (s *Setting) hasPlaceholder() bool { return slices.ContainsFunc(s.levels(), isPlaceholder) }

// FlagName returns the key as a flag.
func (s *Setting) FlagName() string { return strings.ReplaceAll(s.Key, "_", "-") }

// EnvName returns the environment variable of the key.
func (s *Setting) EnvName() string {
	return EnvPrefix + strings.ToUpper(strings.Join(s.levels(), "__"))
}

// ByKey returns the setting of a key.
func ByKey(key string) *Setting {
	return Settings[slices.IndexFunc(Settings, func(s *Setting) bool { return s.Key == key })]
}

// path returns the levels of the key with the chosen name.
func (s *Setting) path(name string) []string {
	path := s.levels()
	if level := slices.IndexFunc(path, isPlaceholder); level >= 0 {
		path[level] = name
	}
	return path
}

// nearestKey returns the key that an unknown path resembles, "" for none.
func nearestKey(path []string) string {
	var keys []string
	for _, setting := range Settings {
		// A name that the operator chose is the second level.
		keys = append(keys, dotted(setting.path(path[min(1, len(path)-1)])))

		// A table by itself.
		if levels := setting.levels(); len(path) == 1 && len(levels) > 1 {
			keys = append(keys, levels[0])
		}
	}
	return cardvocab.Nearest(dotted(path), slices.Values(keys))
}

// MeantVariable suggests the environment variable that an unknown one resembles, "" for none.
func MeantVariable(name string) string {
	key := nearestKey(variablePath(name))
	if key != "" {
		key = EnvPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
	}
	return meant(key)
}

// meant ends an error about an unknown name with the nearest one, unless that is "".
func meant(near string) string {
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// variablePath returns the levels of the key of an environment variable.
func variablePath(name string) []string {
	return strings.Split(strings.ToLower(strings.TrimPrefix(name, EnvPrefix)), "__")
}

// isPlaceholder reports whether a level of a key stands for a name that the operator chooses.
func isPlaceholder(level string) bool { return level == strings.ToUpper(level) }

// findSetting returns the setting of a path and the name chosen in it. whole is false for the
// beginning of a path, such as a table's header.
func findSetting(path []string) (found *Setting, name string, whole bool) {
	for _, setting := range Settings {
		levels := setting.levels()
		if len(path) > len(levels) {
			continue
		}

		// A placeholder matches any name except "".
		picked := ""
		matches := slices.EqualFunc(path, levels[:len(path)], func(given, level string) bool {
			if isPlaceholder(level) {
				picked = given
				return given != ""
			}

			// The spelling of the flag is accepted too.
			return strings.ReplaceAll(given, "-", "_") == level
		})
		if matches && len(path) == len(levels) {
			return setting, picked, true
		}
		if matches {
			found = setting
		}
	}
	return found, "", false
}

// value returns the setting's value, as TOML and JSON have it.
func (s *Setting) value(config *Config, name string) any {
	v := reflect.ValueOf(s.Pointer(config, name)).Elem().Interface()
	switch v := v.(type) {
	case []string:
		return append([]string{}, v...)
	case *bool:
		return v != nil && *v
	}
	return v
}

// builderTables are settings for building, publishing and copying, which no server uses.
var builderTables = []string{"guards", "feed", "daily", "backup"}

// FixedChanges returns the keys that differ in another configuration and need a restart. Plans can
// be reloaded, and a server uses no setting of builderTables.
func (c *Config) FixedChanges(other *Config) (keys []string) {
	for _, setting := range Settings {
		table := setting.levels()[0]
		if setting.hasPlaceholder() || slices.Contains(builderTables, table) {
			continue
		}
		if tomlValue(setting.value(c, "")) != tomlValue(setting.value(other, "")) {
			keys = append(keys, setting.Key)
		}
	}
	return keys
}

// kindNames say what a file must have for a value of a kind.
var kindNames = map[reflect.Kind]string{
	reflect.String: "text in quotes", reflect.Bool: "true or false", reflect.Int: "an integer",
	reflect.Int64: "an integer", reflect.Float64: "a number",
}

// setTOML sets a value from a TOML file.
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

	if choice, ok := ptr.(**bool); ok {
		*choice = new(bool)
		return setTOML(*choice, v)
	}

	// A number may be without a fraction.
	if n, ok := v.(int64); ok && reflect.TypeOf(ptr).Elem().Kind() == reflect.Float64 {
		v = float64(n)
	}
	if number, ok := v.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
		return errors.New("want a finite number")
	}

	// The parser has one kind of integer; otherwise the kinds must be equal.
	to := reflect.ValueOf(ptr).Elem()
	given := reflect.ValueOf(v)
	// Text is never used as a number: "5" in quotes is a mistake.
	if given.Kind() != to.Kind() && (given.Kind() != reflect.Int64 || to.Kind() != reflect.Int) {
		return errors.New("want " + kindNames[to.Kind()])
	}
	to.Set(given.Convert(to.Type()))
	return nil
}

// setText sets a value from an environment variable; commas separate lists.
func setText(ptr any, text string) error {
	var v any
	var err error
	want := ""
	switch ptr.(type) {
	case *string:
		v = text
	case *bool, **bool:
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
