package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/snapshot/guard"
)

// setting is one key of the configuration. The table of them is all that flags, the file, the environment, `config print`
// and `config init` know of it, so that none of them can know another key, help or default.
type setting struct {
	// key is its name in the file, levels joined by dots. A level in capitals stands for a name that the operator
	// chooses: plans.NAME.per_minute.
	key string
	// help says what it is; a flag calls its value what stands in backquotes.
	help string
	flag bool // also a flag of serve, spelt with dashes
	// at returns where the value is: *string, *bool, *int, *int64, *float64 or *[]string. name is the one chosen by the operator.
	at func(c *config, name string) any
	// names returns the chosen names in c; nil where there are none to choose.
	names func(c *config) []string
}

// settings are all keys, those of a table together, the ones outside any table first as TOML wants it.
var settings = slices.Concat([]setting{
	{key: "store", flag: true, help: "snapshot store `DIR`", at: func(c *config, _ string) any { return &c.Store }},
	{
		key: "state", flag: true, help: "`DIR` with keys and metering; one server at a time",
		at: func(c *config, _ string) any { return &c.State },
	},
	{key: "listen", flag: true, help: "`ADDRESS` of the API", at: func(c *config, _ string) any { return &c.Listen }},
	{key: "admin", flag: true, help: "`ADDRESS` of the admin listener", at: func(c *config, _ string) any { return &c.Admin }},
	{
		key: "tls_cert", flag: true, help: "PEM `FILE` with the certificate chain of the API; read again when it changes",
		at: func(c *config, _ string) any { return &c.TLSCert },
	},
	{
		key: "tls_key", flag: true, help: "PEM `FILE` with the private key of the certificate",
		at: func(c *config, _ string) any { return &c.TLSKey },
	},
	{
		key: "ready_file", flag: true, help: "write this `PATH` once requests are served",
		at: func(c *config, _ string) any { return &c.ReadyFile },
	},
	{
		key: "base_url", flag: true, help: "`URL` that clients reach the API by (default: the listen address)",
		at: func(c *config, _ string) any { return &c.BaseURL },
	},
	{
		key: "site_url", flag: true, help: "`URL` of the site that card and set pages are on (default: the base URL)",
		at: func(c *config, _ string) any { return &c.SiteURL },
	},
	{
		key: "images", flag: true, help: "`DIR` with card images, by the names that the catalog gives",
		at: func(c *config, _ string) any { return &c.Images },
	},
	{
		key: "no_site", flag: true, help: "serve no public pages",
		at: func(c *config, _ string) any { return &c.NoSite },
	},
	{
		key: "log_format", flag: true, help: "text or json",
		at: func(c *config, _ string) any { return &c.LogFormat },
	},
	{
		key: "surfaces", help: "live, and preview unless it is to be off",
		at: func(c *config, _ string) any { return &c.Surfaces },
	},
	{
		key: "default_surface", help: "answers a shared path when no key says which",
		at: func(c *config, _ string) any { return &c.DefaultSurface },
	},
	{
		key: "product_prefix", help: "begins product ids: 1 to 16 lower-case letters and digits",
		at: func(c *config, _ string) any { return &c.ProductPrefix },
	},
	{
		key: "cors_origins", help: "origins whose pages may read answers",
		at: func(c *config, _ string) any { return &c.CORSOrigins },
	},
	{
		key: "trusted_proxies", help: "addresses or networks of proxies whose X-Forwarded-For tells a visitor's address",
		at: func(c *config, _ string) any { return &c.TrustedProxies },
	},
	{
		key: "mcp.allowed_hosts", help: "hosts that may be asked for, besides the base URL's, the listen host and loopback",
		at: func(c *config, _ string) any { return &c.MCP.AllowedHosts },
	},
	{
		key: "mcp.allowed_origins", help: "origins whose pages may call MCP",
		at: func(c *config, _ string) any { return &c.MCP.AllowedOrigins },
	},
}, guardSettings(), planSettings())

// guardSettings are the keys of the [guards] table, one a guard.
func guardSettings() []setting {
	var all []setting
	for _, g := range guard.Describe() {
		all = append(all, setting{
			key: "guards." + g.Name, help: g.Help,
			at: func(c *config, _ string) any { return c.Guards[g.Name] },
		})
	}
	return all
}

// planSettings are the keys of a [plans.NAME] table.
func planSettings() []setting {
	plan := func(key, help string, at func(p *planConfig) any) setting {
		return setting{
			key: "plans.NAME." + key, help: help,
			at:    func(c *config, name string) any { return at(c.plan(name)) },
			names: func(c *config) []string { return slices.Sorted(maps.Keys(c.Plans)) },
		}
	}
	return []setting{
		plan("per_minute", "calls in any 60 seconds, 1 to 10000000", func(p *planConfig) any { return &p.PerMinute }),
		plan("per_day", "successful calls a UTC day", func(p *planConfig) any { return &p.PerDay }),
		plan("max_cards", "ids in a card batch, 1 to 200", func(p *planConfig) any { return &p.MaxCards }),
		plan("max_prices", "ids in a price batch, 1 to 100", func(p *planConfig) any { return &p.MaxPrices }),
		plan("history_days", "days of price history, 1 to 365", func(p *planConfig) any { return &p.HistoryDays }),
		plan("stats_window", "longest statistics window: none, 7d, 30d or 90d", func(p *planConfig) any { return &p.StatsWindow }),
	}
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

// flagName is the key as a flag.
func (s *setting) flagName() string { return strings.ReplaceAll(s.key, "_", "-") }

// envName is the environment variable that sets the key.
func (s *setting) envName() string {
	return envPrefix + strings.ToUpper(strings.Join(s.levels(), "__"))
}

// path is the key with the chosen name in its place.
func (s *setting) path(name string) []string {
	path := s.levels()
	for i, level := range path {
		if chosen(level) {
			path[i] = name
		}
	}
	return path
}

// chosen reports whether a level of a key stands for a name that the operator chooses.
func chosen(level string) bool { return level != "" && level == strings.ToUpper(level) }

// findSetting returns the setting that path means and the name chosen in it. Whole is false for the beginning of one,
// such as a table's header.
func findSetting(path []string) (found *setting, name string, whole bool) {
	for i := range settings {
		s := &settings[i]
		levels := s.levels()
		if len(path) > len(levels) {
			continue
		}
		picked := ""
		if slices.EqualFunc(path, levels[:len(path)], func(given, level string) bool {
			if chosen(level) {
				picked = given
				return given != ""
			}
			return strings.ReplaceAll(given, "-", "_") == level // also spelt as its flag
		}) {
			if len(path) == len(levels) {
				return s, picked, true
			}
			found = s
		}
	}
	return found, "", false
}

// addFlags defines the flags of the settings with these keys, or of all that have one, on values of c.
func addFlags(cmd *cobra.Command, c *config, keys ...string) {
	f := cmd.Flags()
	for i := range settings {
		s := &settings[i]
		if !s.flag || len(keys) > 0 && !slices.Contains(keys, s.key) {
			continue
		}
		switch at := s.at(c, "").(type) {
		case *string:
			f.StringVar(at, s.flagName(), *at, s.help)
		case *bool:
			f.BoolVar(at, s.flagName(), *at, s.help)
		case *[]string:
			f.StringSliceVar(at, s.flagName(), *at, s.help)
		default:
			panic("flag of a kind that no flag has: " + s.key) // a mistake in the table
		}
	}
}

// copyValue takes over the value of one setting from another configuration.
func (s *setting) copyValue(to, from *config, name string) {
	switch at := s.at(to, name).(type) {
	case *string:
		*at = *s.at(from, name).(*string) //nolint:errcheck // the same function returned it
	case *bool:
		*at = *s.at(from, name).(*bool) //nolint:errcheck // the same function returned it
	case *[]string:
		*at = *s.at(from, name).(*[]string) //nolint:errcheck // the same function returned it
	}
}

// fixedChanges are the keys, except those of plans and of the guards, which serve does not ask, that differ in another configuration: a running server cannot take
// them over.
func (c *config) fixedChanges(other *config) (keys []string) {
	for i := range settings {
		if s := &settings[i]; s.names == nil && s.levels()[0] != "guards" && tomlValue(s.value(c, "")) != tomlValue(s.value(other, "")) {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// value is the setting's value, as TOML and JSON have it.
func (s *setting) value(c *config, name string) any {
	switch at := s.at(c, name).(type) {
	case *string:
		return *at
	case *bool:
		return *at
	case *int:
		return *at
	case *int64:
		return *at
	case *float64:
		return *at
	case *[]string:
		return append([]string{}, *at...)
	}
	panic("setting of an unknown kind: " + s.key) // a mistake in the table
}

// setTOML sets a value to what a TOML file says.
func setTOML(at, v any) error {
	switch at := at.(type) {
	case *string:
		return take(at, v, "text in quotes")
	case *bool:
		return take(at, v, "true or false")
	case *int64:
		return take(at, v, "an integer")
	case *int:
		var n int64
		err := take(&n, v, "an integer")
		*at = int(n)
		return err
	case *float64:
		if n, ok := v.(int64); ok {
			v = float64(n)
		}
		if f, ok := v.(float64); ok && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return errors.New("want a finite number")
		}
		return take(at, v, "a number")
	case *[]string:
		items, ok := v.([]any)
		list := make([]string, len(items))
		for i := range items {
			ok = ok && take(&list[i], items[i], "") == nil
		}
		if !ok {
			return errors.New("want a list of texts in quotes")
		}
		*at = list
	}
	return nil
}

func take[T any](at *T, v any, want string) error {
	given, ok := v.(T)
	if !ok {
		return errors.New("want " + want)
	}
	*at = given
	return nil
}

// setText sets a value to what an environment variable says; lists are separated by commas.
func setText(at any, text string) error {
	switch at := at.(type) {
	case *string:
		*at = text
	case *bool:
		b, err := strconv.ParseBool(text)
		if err != nil {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		*at = b
	case *int, *int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not an integer", text)
		}
		return setTOML(at, n)
	case *float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is not a number", text)
		}
		return setTOML(at, n)
	case *[]string:
		*at = nil
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				*at = append(*at, item)
			}
		}
	}
	return nil
}
