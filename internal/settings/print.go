package settings

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"ninepocket/access/keys"
	"ninepocket/internal/term"
)

// Row is a setting with its effective value and the value's origin.
type Row struct {
	Key   string `json:"key"`
	Value any    `json:"value"` // without passwords
	From  string `json:"from"`
}

// Rows returns all settings of the effective configuration, in the order of the file.
func (c *Merged) Rows() (rows []Row) {
	c.eachSetting(func(setting *Setting, name string, whole *Config) {
		key := dotted(setting.path(name))
		rows = append(rows, Row{key, redactValue(key, setting.value(whole, name)), cmp.Or(c.origins[key], "default")})
	})
	return rows
}

// eachSetting calls visit with every setting of the effective configuration, table by table.
func (c *Config) eachSetting(visit func(setting *Setting, name string, whole *Config)) {
	whole := c.withAllPlans()
	// Plans are the last tables: each has all its settings together.
	plans := slices.IndexFunc(Settings, (*Setting).hasPlaceholder)
	for _, setting := range Settings[:plans] {
		visit(setting, "", &whole)
	}

	for _, name := range slices.Sorted(maps.Keys(whole.Plans)) {
		for _, setting := range Settings[plans:] {
			visit(setting, name, &whole)
		}
	}
}

// withAllPlans returns the configuration with all effective plans, as their tables encode them.
func (c *Config) withAllPlans() Config {
	whole := *c
	whole.Plans = nil

	// An invalid plan stays unchanged.
	plans, _ := c.PlanTable()
	for name, plan := range plans {
		window := "none"
		if plan.Stats() {
			window = fmt.Sprintf("%dd", plan.StatsWindow)
		}
		price := cmp.Or(c.Plans[name], &Plan{})
		*whole.plan(name) = Plan{
			Price: price.Price, Included: price.Included, OveragePrice: price.OveragePrice, Currency: price.Currency,
			PerMinute: plan.PerMinute, PerDay: plan.PerDay, MaxCards: plan.MaxCards, MaxPrices: plan.MaxPrices,
			HistoryDays: plan.HistoryDays, StatsWindow: window, Bulk: new(plan.HasBulk()),
		}
	}
	return whole
}

// Print prints the effective configuration as a file that Read accepts, each value with its origin.
// out stores the first error.
func (c *Merged) Print(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	table := ""
	for _, row := range c.Rows() {
		header, key := splitKey(row.Key)
		if header != table {
			table = header
			fmt.Fprintf(t, "\n[%s]\n", table)
		}
		fmt.Fprintf(t, "%s = %s\t# %s\n", key, tomlValue(row.Value), row.From)
	}

	// out stores the error.
	_ = t.Flush()
}

// Example returns a file with every key and its default, commented out, from the table of settings.
func Example() []byte {
	var b bytes.Buffer
	b.WriteString("# Configuration of ninepocket serve. Every key is here with its default; take away the # before " +
		"a key to change it.\n# Flags win over the environment, the environment over this file. Check it with: " +
		"ninepocket config check --config FILE\n")

	config := Default()
	table := ""
	explained := map[string]bool{}
	config.eachSetting(func(setting *Setting, name string, whole *Config) {
		header, key := splitKey(dotted(setting.path(name)))
		if header != table {
			table = header
			fmt.Fprintf(&b, "\n[%s]\n", table)
			if setting.hasPlaceholder() && !explained[setting.Key] {
				b.WriteString("# A name of your choice makes another one.\n")
			}
		}
		// Only the first plan is explained.
		if !explained[setting.Key] {
			explained[setting.Key] = true
			fmt.Fprintf(&b, "\n# %s\n# %s\n", strings.ReplaceAll(setting.Help, "`", ""), setting.EnvName())
		}

		fmt.Fprintf(&b, "#%s = %s\n", key, tomlValue(setting.value(whole, name)))
	})
	return b.Bytes()
}

// splitKey splits an encoded key into its table and its last level, which is never quoted.
func splitKey(key string) (table, last string) {
	if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
		return key[:dot], key[dot+1:]
	}
	return "", key
}

// dotted encodes the path of a key as TOML does.
func dotted(path []string) string {
	levels := slices.Clone(path)
	for i, level := range levels {
		if !isBareKey(level) {
			levels[i] = tomlValue(level)
		}
	}
	return strings.Join(levels, ".")
}

func isBareKey(s string) bool {
	return s != "" && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// redactValue hides passwords in a value, and the secrets of a hook: the whole secret, and the part
// of a URL after its host.
func redactValue(key string, v any) any {
	switch v := v.(type) {
	case string:
		u, err := url.Parse(v)
		switch {
		case v == "" || key != "notify.url" && key != "notify.secret":
			return Redact(v)
		case key == "notify.url" && err == nil && u.Host != "":
			return u.Scheme + "://" + u.Host + "/***"
		}
		return "***"

	case []string:
		// The list may be changed: Setting.value returns a copy.
		for i := range v {
			v[i] = Redact(v[i])
		}
	}
	return v
}

// tomlValue encodes a value. TOML encodes basic strings, lists and numbers like JSON, except that
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
	if err := term.JSON(&b, v); err != nil {
		// Unreachable: a value is text, a boolean, a finite number or a list of texts.
		panic(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(b.String()), "\x7f", `\u007F`)
}

// Public returns the settings that a support bundle may have: those whose field has the tag public. The tag is
// "yes" for numbers and booleans, "duration", or the words that a text may have. Other values become "***".
func (c *Merged) Public() map[string]any {
	builtIn := keys.DefaultPlans()
	aliases := map[string]string{}
	public := map[string]any{}

	c.eachSetting(func(setting *Setting, name string, whole *Config) {
		if setting.public == "" {
			return
		}
		// A name of a plan is its operator's word.
		shown := name
		if _, known := builtIn[name]; name != "" && !known {
			if aliases[name] == "" {
				aliases[name] = fmt.Sprintf("plan%d", len(aliases)+1)
			}
			shown = aliases[name]
		}
		public[dotted(setting.path(shown))] = setting.publicValue(whole, name)
	})
	return public
}

// publicValue returns the value, or "***" for a text that the tag does not allow.
func (s *Setting) publicValue(whole *Config, name string) any {
	value := s.value(whole, name)
	texts, _ := value.([]string)
	if text, is := value.(string); is {
		texts = []string{text}
	}
	for _, text := range texts {
		_, err := time.ParseDuration(text)
		if (s.public != "duration" || err != nil) && !slices.Contains(strings.Fields(s.public), text) {
			return "***"
		}
	}
	return value
}
