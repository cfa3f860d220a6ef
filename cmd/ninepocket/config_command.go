package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access/keys"
)

func configCheck() *cobra.Command {
	var flags *configFlags
	cmd := &cobra.Command{
		Use: "check", Short: "Check what serve would run with and name every problem; exit 2 when there is one",
		Args: cobra.NoArgs,
		Long: "Reads file, environment and flags exactly as serve does, checks them, and reads the certificate " +
			"where one is\n" +
			"configured. It does not look at the store. Of the state directory it reads the keys, if any,\n" +
			"and names those whose plan is not configured. What a fleet shares: ninepocket fleet check.",
		Example: "  ninepocket config check --config /etc/ninepocket/ninepocket.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			// A half-read configuration would only lack what was misread.
			if err == nil {
				_, certErr := layered.certificate()
				err = errors.Join(layered.missing(), certErr)
			}
			if err != nil {
				return fail(exitUsage, "", err)
			}
			if layered.hidesVisitors() {
				cmd.PrintErrln("hint: base_url tells of a proxy in front and trusted_proxies names none: " +
					"all who ask for pages through it share one allowance")
			}
			if layered.Control != "" && layered.Metering == "" {
				cmd.PrintErrln("hint: control is given and metering is not: each server counts limits for itself")
			}
			layered.hintPlans(cmd)
			return say(cmd, false, nil, "the configuration is good")
		},
	}

	flags = addConfigFlags(cmd)
	return cmd
}

// hintPlans names keys that would be answered 503, and plans that can make more replies than are
// kept.
func (c *layered) hintPlans(cmd *cobra.Command) {
	plans, err := c.plans()
	if err != nil {
		return // told before
	}
	for _, name := range plans.Names() {
		if n := plans[name].PerMinute * 10; n > c.RepliesMax {
			if _, given := c.from["plans."+name+".per_minute"]; given {
				cmd.PrintErrf("hint: plan %s admits %d idempotent batches in ten minutes, and replies_max keeps %d: "+
					"what is beyond gets 503\n", name, n, c.RepliesMax)
			}
		}
	}

	// Those of a fleet are in its database, which `fleet check` looks at.
	if c.Control != "" {
		return
	}
	ring, err := keys.OpenRing(c.State, plans)
	if errors.Is(err, keys.ErrNoFile) {
		return // keys may come later
	}
	if err != nil {
		cmd.PrintErrf("hint: the keys cannot be read: %v\n", err)
		return
	}
	for _, u := range ring.Unusable(time.Now()) {
		cmd.PrintErrf("hint: plan %s is not configured, so that keys of tenant %s are answered 503: %s\n",
			u.Plan, u.Tenant, strings.Join(u.Keys, ", "))
	}
}

// hidesVisitors reports whether clients must come through a proxy that is not trusted to say who
// they are: pages are served, and the base URL is one that the listener itself cannot answer.
func (c *config) hidesVisitors() bool {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || c.NoSite || len(c.TrustedProxies) > 0 {
		return false
	}

	// TLS that ends elsewhere, or a public name before a private listener: something is in between.
	host, _, err := net.SplitHostPort(c.Listen)
	return base.Scheme == "https" && c.TLSCert == "" || err == nil && local(host) && !local(base.Hostname())
}

// local reports whether a host is a loopback address or "localhost", which only this machine itself
// can reach.
func local(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// printed is a row of config print --json.
type printed struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
	From  string `json:"from"`
}

func configPrint() *cobra.Command {
	var flags *configFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use: "print", Short: "Print what serve would run with, and where each value came from", Args: cobra.NoArgs,
		Long: "Prints the merged configuration as a TOML file that --config would take, each value with its origin: " +
			"the\n" +
			"default, a line of the file, an environment variable or a flag. Passwords in URLs are not printed.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			return show(cmd, asJSON, layered.rows(), layered.print)
		},
	}

	flags = addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// rows are all settings with their effective values.
func (c *layered) rows() (rows []printed) {
	c.each(func(s *setting, name string, whole *config) {
		key := dotted(s.path(name))
		rows = append(rows, printed{key, redacted(s.value(whole, name)), cmp.Or(c.from[key], "default")})
	})
	return rows
}

// each calls f with every setting of the effective configuration, those of a table one after the
// other.
func (c *config) each(visit func(s *setting, name string, whole *config)) {
	whole := c.effective()
	plans := slices.IndexFunc(settings, (*setting).named)
	for _, s := range settings[:plans] {
		visit(s, "", &whole)
	}

	for _, name := range slices.Sorted(maps.Keys(whole.Plans)) {
		for _, s := range settings[plans:] {
			visit(s, name, &whole)
		}
	}
}

// effective is the configuration with all plans as they come out, spelt as their tables do.
func (c *config) effective() config {
	whole := *c
	whole.Plans = nil

	// A bad one comes out as it was given.
	plans, _ := c.plans()
	for name, plan := range plans {
		window := "none"
		if plan.Stats() {
			window = fmt.Sprintf("%dd", plan.StatsWindow)
		}
		*whole.plan(name) = planConfig{
			PerMinute: plan.PerMinute, PerDay: plan.PerDay, MaxCards: plan.MaxCards, MaxPrices: plan.MaxPrices,
			HistoryDays: plan.HistoryDays, StatsWindow: window,
		}
	}
	return whole
}

func (c *layered) print(out *bufio.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	table := ""
	for _, row := range c.rows() {
		header, key := splitKey(row.Key)
		if header != table {
			table = header
			fmt.Fprintf(t, "\n[%s]\n", table)
		}
		fmt.Fprintf(t, "%s = %s\t# %s\n", key, tomlValue(row.Value), row.From)
	}

	// out keeps the error.
	_ = t.Flush()
}

func configInit() *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented configuration file with every key and its default",
		Args: cobra.MaximumNArgs(1),
		Long: "Writes FILE (default: ninepocket.toml), or to the terminal when FILE is -. Every key is there, " +
			"commented out,\n" +
			"with its default and its environment variable. A file that exists is left alone.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "ninepocket.toml"
			if len(args) > 0 {
				path = args[0]
			}

			text := exampleConfig()
			if path == "-" {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			if err := writeNew(path, text); err != nil {
				return fail(exitFailure, "name another file, or - for the terminal",
					fmt.Errorf("cannot write configuration: %w", err))
			}
			return say(cmd, false, nil, "wrote %s", path)
		},
	}
}

// writeNew writes a file that is not there yet, and leaves none when it fails.
func writeNew(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		// As far as that is possible.
		_ = os.Remove(path)
	}
	return err
}

// exampleConfig is a file in which every key is commented out with its default, made from the table
// of settings.
func exampleConfig() []byte {
	var b bytes.Buffer
	b.WriteString("# Configuration of ninepocket serve. Every key is here with its default; take away the # before " +
		"a key to change it.\n" +
		"# Flags win over the environment, the environment over this file. Check it with: ninepocket config check " +
		"--config FILE\n")

	c := defaultConfig()
	table := ""
	explained := map[string]bool{}
	c.each(func(s *setting, name string, whole *config) {
		header, key := splitKey(dotted(s.path(name)))
		if header != table {
			table = header
			fmt.Fprintf(&b, "\n[%s]\n", table)
			if s.named() && !explained[s.key] {
				b.WriteString("# A name of your choice makes another one.\n")
			}
		}
		if !explained[s.key] {
			explained[s.key] = true
			fmt.Fprintf(&b, "\n# %s\n# %s\n", strings.ReplaceAll(s.help, "`", ""), s.envName())
		}

		fmt.Fprintf(&b, "#%s = %s\n", key, tomlValue(s.value(whole, name)))
	})
	return b.Bytes()
}

// splitKey parts a spelt key into its table and its last level, which is never quoted.
func splitKey(key string) (table, last string) {
	if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
		return key[:dot], key[dot+1:]
	}
	return "", key
}

// dotted spells the path of a key as TOML does.
func dotted(path []string) string {
	levels := slices.Clone(path)
	for i, level := range levels {
		if !bareKey(level) {
			levels[i] = tomlValue(level)
		}
	}
	return strings.Join(levels, ".")
}

func bareKey(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// redacted hides passwords in a value.
func redacted(v any) any {
	switch v := v.(type) {
	case string:
		return redact(v)
	case []string:
		// The list may be changed: setting.value returns a copy.
		for i := range v {
			v[i] = redact(v[i])
		}
	}
	return v
}

// tomlValue spells a value. TOML writes basic strings, lists and numbers as JSON does, except that
// DEL must be escaped.
func tomlValue(v any) string {
	if list, ok := v.([]string); ok {
		items := make([]string, len(list))
		for i, s := range list {
			items[i] = tomlValue(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}

	var b bytes.Buffer
	if err := printJSON(&b, v); err != nil {
		// A value of a setting is text, a truth, a finite number or a list of texts.
		panic(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007F`)
}
