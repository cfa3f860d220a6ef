package main

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ninepocket/access"
)

// config is what serve runs with: defaults < TOML file < environment < flags (contract, Binary).
type config struct {
	Store     string `toml:"store"`
	State     string `toml:"state"`
	Listen    string `toml:"listen"`
	Admin     string `toml:"admin"`
	ReadyFile string `toml:"ready_file"`
	BaseURL   string `toml:"base_url"`
	SiteURL   string `toml:"site_url"`
	Images    string `toml:"images"`
	NoSite    bool   `toml:"no_site"`
	LogFormat string `toml:"log_format"`

	Surfaces       []string `toml:"surfaces"`
	DefaultSurface string   `toml:"default_surface"`
	ProductPrefix  string   `toml:"product_prefix"`
	CORSOrigins    []string `toml:"cors_origins"`
	TrustedProxies []string `toml:"trusted_proxies"`

	Plans map[string]planConfig `toml:"plans"`
	MCP   mcpConfig             `toml:"mcp"`
}

// planConfig is a [plans.NAME] table; what is left out keeps its default (decision 14).
type planConfig struct {
	PerMinute   int    `toml:"per_minute"`
	PerDay      int64  `toml:"per_day"`
	MaxCards    int    `toml:"max_cards"`
	MaxPrices   int    `toml:"max_prices"`
	HistoryDays int    `toml:"history_days"`
	StatsWindow string `toml:"stats_window"` // none, 7d, 30d or 90d
}

type mcpConfig struct {
	AllowedHosts   []string `toml:"allowed_hosts"`
	AllowedOrigins []string `toml:"allowed_origins"`
}

// configFile is config with the keys that are spelt as their flags.
type configFile struct {
	config
	ReadyFlag  string `toml:"ready-file"`
	BaseFlag   string `toml:"base-url"`
	SiteFlag   string `toml:"site-url"`
	LogFlag    string `toml:"log-format"`
	NoSiteFlag bool   `toml:"no-site"`
}

// merged is the configuration with what was given under a flag's spelling.
func (f *configFile) merged() config {
	c := f.config
	for _, k := range []struct {
		to   *string
		from string
	}{{&c.ReadyFile, f.ReadyFlag}, {&c.BaseURL, f.BaseFlag}, {&c.SiteURL, f.SiteFlag}, {&c.LogFormat, f.LogFlag}} {
		if k.from != "" {
			*k.to = k.from
		}
	}
	c.NoSite = c.NoSite || f.NoSiteFlag
	return c
}

func defaultConfig() config {
	return config{
		Listen: "127.0.0.1:8080", Admin: "127.0.0.1:8081", LogFormat: "text",
		Surfaces: []string{"live", "preview"}, DefaultSurface: "live", ProductPrefix: "prd",
	}
}

// envPrefix begins the environment variables that configure serve; levels are joined by __.
const envPrefix = "NINEPOCKET_"

// readConfig merges defaults, the file (when given) and the environment; warn is told of variables that mean nothing.
func readConfig(path string, environ []string, warn func(name string)) (config, error) {
	c := defaultConfig()
	if path != "" {
		f, err := os.Open(path)
		if err != nil {
			return c, fmt.Errorf("cannot read configuration: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		file := configFile{config: c}
		if err := toml.NewDecoder(f).DisallowUnknownFields().Decode(&file); err != nil {
			return c, fmt.Errorf("cannot read configuration %q: %s", path, explainTOML(err))
		}
		c = file.merged()
	}
	var problems []error
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		if rest, ours := strings.CutPrefix(name, envPrefix); ours {
			err := setField(reflect.ValueOf(&c).Elem(), strings.Split(strings.ToLower(rest), "__"), value)
			switch {
			case errors.Is(err, errNoKey):
				// Other programs make such names too: a service called ninepocket gets NINEPOCKET_PORT from its cluster.
				warn(name)
			case err != nil:
				problems = append(problems, fmt.Errorf("cannot use environment variable %s: %w", name, err))
			}
		}
	}
	return c, errors.Join(problems...)
}

var errNoKey = errors.New("no such key")

// explainTOML shows the offending lines of a configuration file.
func explainTOML(err error) string {
	var strict *toml.StrictMissingError
	var decode *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		return "unknown key\n" + strict.String()
	case errors.As(err, &decode):
		row, column := decode.Position()
		return fmt.Sprintf("line %d, column %d: %s\n%s", row, column, decode.Error(), decode.String())
	}
	return err.Error()
}

// setField sets the field of v that path leads to through toml names.
func setField(v reflect.Value, path []string, value string) error {
	if v.Kind() == reflect.Map {
		if len(path) < 2 {
			return errNoKey
		}
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
		entry := reflect.New(v.Type().Elem()).Elem()
		if old := v.MapIndex(reflect.ValueOf(path[0])); old.IsValid() {
			entry.Set(old)
		}
		if err := setField(entry, path[1:], value); err != nil {
			return err
		}
		v.SetMapIndex(reflect.ValueOf(path[0]), entry)
		return nil
	}
	if v.Kind() == reflect.Struct {
		for i := range v.NumField() {
			if len(path) > 0 && v.Type().Field(i).Tag.Get("toml") == path[0] {
				return setField(v.Field(i), path[1:], value)
			}
		}
	}
	if len(path) > 0 || v.Kind() == reflect.Struct {
		return errNoKey
	}
	return setValue(v, value)
}

func setValue(v reflect.Value, value string) error {
	switch v.Kind() {
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not an integer", value)
		}
		v.SetInt(n)
	case reflect.Bool:
		b, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("%q is not true or false", value)
		}
		v.SetBool(b)
	case reflect.Slice:
		var list []string
		for item := range strings.SplitSeq(value, ",") {
			if item = strings.TrimSpace(item); item != "" {
				list = append(list, item)
			}
		}
		v.Set(reflect.ValueOf(list))
	default:
		v.SetString(value)
	}
	return nil
}

// validate returns every problem of a configuration.
func (c *config) validate() error {
	var problems []error
	for _, s := range c.Surfaces {
		if s != "live" && s != "preview" {
			problems = append(problems, fmt.Errorf("cannot use surfaces: %q is not live or preview", s))
		}
	}
	if !slices.Contains(c.Surfaces, "live") {
		problems = append(problems, errors.New("cannot use surfaces: live cannot be switched off"))
	}
	if !slices.Contains(c.Surfaces, c.DefaultSurface) {
		problems = append(problems, fmt.Errorf("cannot use default_surface %q: it is not one of surfaces", c.DefaultSurface))
	}
	if !validPrefix(c.ProductPrefix) {
		problems = append(problems, fmt.Errorf("cannot use product_prefix %q: want 1 to 16 lower-case letters and digits", c.ProductPrefix))
	}
	for _, u := range []struct{ key, value string }{{"base_url", c.BaseURL}, {"site_url", c.SiteURL}} {
		if err := checkURL(u.value); err != nil {
			problems = append(problems, fmt.Errorf("cannot use %s %q: %w", u.key, u.value, err))
		}
	}
	if c.LogFormat != "text" && c.LogFormat != "json" {
		problems = append(problems, fmt.Errorf("cannot use log_format %q: want text or json", c.LogFormat))
	}
	_, proxies := c.trustedProxies()
	_, plans := c.plans()
	return errors.Join(append(problems, proxies, plans)...)
}

// checkURL wants an absolute http or https URL, or none; it is put into answers as it is.
func checkURL(s string) error {
	if s == "" {
		return nil
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return errors.New("it is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return errors.New("want https://host, with a path at most")
	case u.String() != s || strings.ContainsAny(s, "\"\\<>"):
		return errors.New("it holds characters that must be percent-encoded")
	}
	return nil
}

// trustedProxies are the networks of proxies whose X-Forwarded-For is believed.
func (c *config) trustedProxies() (all []netip.Prefix, err error) {
	var problems []error
	for _, text := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			var addr netip.Addr
			if addr, err = netip.ParseAddr(text); err == nil {
				prefix, err = addr.Prefix(addr.BitLen())
			}
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("cannot use trusted_proxies: %q is neither an address nor a network", text))
			continue
		}
		all = append(all, prefix.Masked())
	}
	return all, errors.Join(problems...)
}

func validPrefix(s string) bool {
	if s == "" || len(s) > 16 {
		return false
	}
	for _, b := range []byte(s) {
		if (b < 'a' || b > 'z') && (b < '0' || b > '9') {
			return false
		}
	}
	return true
}

// plans are the default plans with the configured changes.
func (c *config) plans() (access.Plans, error) {
	plans := access.DefaultPlans()
	var problems []error
	for name, p := range c.Plans {
		window, ok := map[string]int{"": 0, "none": access.NoStats, "7d": 7, "30d": 30, "90d": 90}[p.StatsWindow]
		if !ok {
			problems = append(problems, fmt.Errorf("cannot use plan %q: stats_window is %q, want none, 7d, 30d or 90d", name, p.StatsWindow))
		}
		plans.Set(name, access.Plan{
			PerMinute: p.PerMinute, PerDay: p.PerDay, MaxCards: p.MaxCards, MaxPrices: p.MaxPrices,
			HistoryDays: p.HistoryDays, StatsWindow: window,
		})
	}
	return plans, errors.Join(append(problems, plans.Validate())...)
}
