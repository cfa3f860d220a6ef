package settings

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/CONFIGURATION.md")

// configurationPage begins the page; the tables follow from the settings.
const configurationPage = `# Configuration

For operators: every key of the configuration, its default and its environment variable.
` + "`make generate`" + ` writes this page from the program. [INSTALL.md](INSTALL.md) has a first file.

## Where a value comes from

A flag wins over the environment. The environment wins over the file. The file wins over the
default. The file is ` + "`--config FILE`, or else the file that `NINEPOCKET_CONFIG` names" + `.

` + "```sh" + `
ninepocket config init /etc/ninepocket/ninepocket.toml     # a file with every key, commented out
ninepocket config check --config /etc/ninepocket/ninepocket.toml --store store --state state
ninepocket config print --config /etc/ninepocket/ninepocket.toml
` + "```" + `

` + "`check` names every problem with its line and exits 2. `print` shows each value with its origin and" + `
hides passwords. An unknown key is an error. An unknown variable is a warning, because clusters set
variables with the same prefix.

- A variable joins levels by ` + "`__`: `NINEPOCKET_FEED__INTO` sets `into` of `[feed]`" + `.
- A variable holds a list with commas between its values.
- A key marked *flag* is also a flag of ` + "`serve`: `base_url` is `--base-url`" + `.
- A running server loads a changed ` + "`[plans]` on SIGHUP" + `. Other keys of the server need a restart; the
  log names them. ` + "`control` and `metering` may change their passwords on SIGHUP" + `.
- ` + "`[feed]`, `[daily]`, `[backup]` and `[guards]`" + ` are for commands: the next run uses them.
- Commands take ` + "`store`, `state`, `control`, `metering` and `access_log`" + ` from the file too.
`

// tableIntros say what a table is for.
var tableIntros = map[string]string{
	"":        "Keys without a table stand at the beginning of the file.",
	"serve":   "The time of the next release, for clients.",
	"compat":  "The API of another service, for programs that used it.",
	"feed":    "The download of the price feed ([DAILY.md](DAILY.md)).",
	"daily":   "The daily job ([DAILY.md](DAILY.md)).",
	"backup":  "Backups ([BACKUP.md](BACKUP.md)).",
	"notify":  "Hooks ([DAILY.md](DAILY.md#hooks)).",
	"metrics": "Metrics that are off by default ([METRICS.md](METRICS.md)).",
	"fleet":   "Limits and usage of several servers ([FLEET.md](FLEET.md)).",
	"mcp":     "The MCP endpoint.",
	"guards":  "Limits of the guards ([GUARDS.md](GUARDS.md)).",
	"plans.NAME": "Put the name of a plan in the place of `NAME`. A new name makes another plan.\n" +
		"[KEYS.md](KEYS.md#plans) lists the plans that are built in.",
}

// TestConfigurationPage holds docs/CONFIGURATION.md against the settings. With -update it writes the page.
func TestConfigurationPage(t *testing.T) {
	const file = "../../docs/CONFIGURATION.md"
	page := configurationPage
	table := "none"
	intros := 0
	config := Default()
	for _, setting := range Settings {
		header, key := splitKey(setting.Key)
		if header != table {
			table = header
			intros++
			heading := "[" + table + "]"
			if table == "" {
				heading = "The server"
			}
			intro := tableIntros[table]
			if intro == "" {
				t.Errorf("the page says nothing about [%s]", table)
			}
			page += "\n## " + heading + "\n\n" + intro +
				"\n\n| key | default | variable | meaning |\n|---|---|---|---|\n"
		}

		// A plan's default depends on its name.
		value := "of the plan"
		if !setting.hasPlaceholder() {
			value = "`" + tomlValue(setting.value(&config, "")) + "`"
		}
		help := strings.ReplaceAll(strings.ReplaceAll(setting.Help, "`", ""), "|", `\|`)
		if setting.Flag {
			help += " (*flag*)"
		}
		page += fmt.Sprintf("| `%s` | %s | `%s` | %s |\n", key, value, setting.EnvName(), help)
	}
	if intros != len(tableIntros) {
		t.Errorf("%d tables, %d introductions", intros, len(tableIntros))
	}

	if *update {
		if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(file)
	if diff := cmp.Diff(string(written), page); err != nil || diff != "" {
		t.Errorf("%s is not what make generate writes: %v\n%s", file, err, diff)
	}
}
