package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ninepocket/access/keys"
	"ninepocket/internal/settings"
	"ninepocket/node"
)

func configCheck() *cobra.Command {
	var flags *configFlags
	cmd := &cobra.Command{
		Use: "check", Short: "Check the configuration of serve and name every problem; exit 2 if there is one",
		Args: cobra.NoArgs,
		Long: "Reads file, environment and flags exactly as serve does, checks them, and reads the certificate " +
			"where one is\n" +
			"configured. It does not look at the store. Of the state directory it reads the keys, if any,\n" +
			"and names those whose plan is not configured. To check the databases of a fleet: ninepocket fleet check.",
		Example: "  ninepocket config check --config /etc/ninepocket/ninepocket.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			// Settings may be missing only because the configuration was not read completely.
			if err == nil {
				_, certErr := node.Certificate(&layered.Config)
				err = errors.Join(layered.MissingSettings(), certErr)
			}
			if err != nil {
				return fail(exitUsage, "", err)
			}
			if layered.HidesClientIPs() {
				cmd.PrintErrln("hint: base_url means a proxy in front, but trusted_proxies names none: " +
					"all visitors through it share one allowance")
			}
			if layered.Control != "" && layered.Metering == "" {
				cmd.PrintErrln("hint: control is given and metering is not: each server counts limits for itself")
			}
			hintPlans(cmd, &layered)
			return printLine(cmd, nil, "the configuration is good")
		},
	}

	flags = addConfigFlags(cmd)
	return cmd
}

// hintPlans names keys that would get 503, and plans that can make more replies than are stored.
func hintPlans(cmd *cobra.Command, layered *settings.Merged) {
	plans, err := layered.PlanTable()
	if err != nil {
		return // reported already
	}
	for _, name := range plans.Names() {
		// Replies are stored for ten minutes.
		n := plans[name].PerMinute * 10
		if n > layered.MaxIdempotencyRecords && layered.Origin("plans."+name+".per_minute") != "" {
			cmd.PrintErrf("hint: plan %s admits %d idempotent batches in ten minutes, and replies_max stores %d: "+
				"further batches get 503\n", name, n, layered.MaxIdempotencyRecords)
		}
	}

	// The keys of a fleet are in its database, which `fleet check` checks.
	if layered.Control != "" {
		return
	}
	ring, err := keys.OpenRing(layered.State, plans)
	if errors.Is(err, keys.ErrNoFile) {
		return // keys may be created later
	}
	if err != nil {
		cmd.PrintErrf("hint: the keys cannot be read: %v\n", err)
		return
	}
	for _, u := range ring.WithoutPlan(time.Now()) {
		cmd.PrintErrf("hint: plan %s is not configured, so that keys of tenant %s are answered 503: %s\n",
			u.Plan, u.Tenant, strings.Join(u.Keys, ", "))
	}
}

func configPrint() *cobra.Command {
	var flags *configFlags
	cmd := &cobra.Command{
		Use: "print", Short: "Print the merged configuration with the origin of each value", Args: cobra.NoArgs,
		Long: `Prints the merged configuration as a TOML file that --config would take, each value with its origin: the
default, a line of the file, an environment variable or a flag. Passwords in URLs are not printed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			return printResult(cmd, layered.Rows(), func(out *bufio.Writer) { layered.Print(out) })
		},
	}

	flags = addConfigFlags(cmd)
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

func configInit() *cobra.Command {
	return &cobra.Command{
		Use: "init [FILE]", Short: "Write a commented configuration file with every key and its default",
		Args: cobra.MaximumNArgs(1),
		Long: "Writes FILE (default: ninepocket.toml), or to the terminal when FILE is -. Every key is there, " +
			"commented out,\n" +
			"with its default and its environment variable. A file that exists is left alone.",
		RunE: func(cmd *cobra.Command, args []string) error {
			path := append(args, "ninepocket.toml")[0]

			text := settings.Example()
			if path == "-" {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			if err := writeNewFile(path, text); err != nil {
				return fail(exitFailure, "name another file, or - for the terminal",
					fmt.Errorf("cannot write configuration: %w", err))
			}
			return printLine(cmd, nil, "wrote %s", path)
		},
	}
}

// writeNewFile writes a file that must not exist, and removes it after an error.
func writeNewFile(path string, text []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}

	_, err = file.Write(text)
	err = errors.Join(err, file.Close())
	if err != nil {
		// An error here is secondary.
		_ = os.Remove(path)
	}
	return err
}

// configFlags are the flags of a server's configuration: --config, and one for each setting that
// has a flag.
type configFlags struct {
	cmd    *cobra.Command
	path   string
	values settings.Config
}

// addConfigFlags adds --config and the flags of the settings with the given keys, or of all.
func addConfigFlags(cmd *cobra.Command, keys ...string) *configFlags {
	flags := &configFlags{cmd: cmd, values: settings.Default()}
	cmd.Flags().StringVar(&flags.path, "config", "", "TOML configuration `FILE`")
	addFlags(cmd, &flags.values, keys...)
	if len(keys) == 0 {
		// The file has a table of these, which no flag can be.
		cmd.Flags().Func("compat", "also answer programs of an API: `pokemontcg`", func(name string) error {
			if name != compatPokemonTCG {
				return errors.New("want " + compatPokemonTCG)
			}
			flags.values.Compat.PokemonTCG = true
			return nil
		})
	}
	return flags
}

// compatPokemonTCG is the one API that --compat NAME names: it is compat.NAME = true in the file.
const compatPokemonTCG = "pokemontcg"

// addFlags defines the flags of the settings with the given keys, or of all that have one, with
// values in config.
func addFlags(cmd *cobra.Command, config *settings.Config, keys ...string) {
	f := cmd.Flags()
	for _, setting := range settings.Settings {
		if !setting.Flag || len(keys) > 0 && !slices.Contains(keys, setting.Key) {
			continue
		}

		defineFlag(f, setting.Pointer(config, ""), setting.FlagName(), setting.Help)
	}
}

// defineFlag defines the flag of a setting.
func defineFlag(f *pflag.FlagSet, value any, name, help string) { // air: a table
	switch ptr := value.(type) {
	case *string:
		f.StringVar(ptr, name, *ptr, help)
	case *bool:
		f.BoolVar(ptr, name, *ptr, help)
	case **bool: // left out, it stays nil
		f.BoolFunc(name, help, func(text string) error {
			choice, err := strconv.ParseBool(text)
			*ptr = &choice
			return err
		})
	case *int:
		f.IntVar(ptr, name, *ptr, help)
	case *int64:
		f.Int64Var(ptr, name, *ptr, help)
	default:
		// A programming error in the tags.
		panic("flag of a kind that no flag has: " + name)
	}
}

// read merges all layers as they are now and validates the result. The error joins every problem.
func (flags *configFlags) read() (settings.Merged, error) {
	layered, err := settings.Read(settings.File(flags.path), os.Environ(), func(name string) {
		flags.cmd.PrintErrf("note: environment variable %s is not a setting of ninepocket%s\n", name,
			settings.MeantVariable(name))
	})

	// Given flags win over all other layers.
	for _, setting := range settings.Settings {
		if setting.Flag && flags.cmd.Flags().Changed(setting.FlagName()) {
			layered.Override(setting, &flags.values, "flag --"+setting.FlagName())
		}
	}
	if compat := flags.cmd.Flags().Lookup("compat"); compat != nil && compat.Changed {
		layered.Override(settings.ByKey("compat."+compatPokemonTCG), &flags.values, "flag --compat")
	}
	return layered, errors.Join(err, layered.Validate())
}

// ofConfiguration ends the help of a flag that the configuration may give.
const ofConfiguration = " (default: of the configuration)"

// The annotation by which configured marks settings.
const (
	needed   = "needed" // the command cannot go on without
	optional = "optional"
)

// originOf annotates a flag that the configuration gave: the place of its value.
const originOf = "origin"

// configured lets the configuration give flags of a command that are not given. Of several settings
// one is enough: any that is given as a flag, else the first that is configured.
func configured(cmd *cobra.Command, need string, keys ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[strings.Join(keys, " ")] = need
}

// flagOf returns the flag of a setting, which lacks the name of a table.
func flagOf(key string) string {
	return strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", "-")
}

// addConfigurations gives the flag --config to all commands whose flags the configuration may give.
func addConfigurations(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addConfigurations(cmd)
		if len(cmd.Annotations) > 0 && cmd.Flags().Lookup("config") == nil {
			cmd.Flags().String("config", "", "TOML configuration `FILE` (default: $NINEPOCKET_CONFIG)")
		}
	}
}

// complete gives a command what its flags lack from the configuration, and checks folders and URLs.
// A command whose flags give all that it needs reads no file that is not named.
func complete(cmd *cobra.Command) error {
	open := slices.DeleteFunc(slices.Sorted(maps.Keys(cmd.Annotations)), func(group string) bool {
		given := func(key string) bool { return cmd.Flags().Changed(flagOf(key)) }
		return slices.ContainsFunc(strings.Fields(group), given)
	})
	config := cmd.Flags().Lookup("config")
	if len(cmd.Annotations) == 0 || len(open) == 0 && !config.Changed {
		return fail(exitUsage, "", checkPlaces(cmd))
	}
	layered, err := readConfiguration(cmd, config.Value.String())
	if err != nil {
		return err
	}

	var wrong settings.Problems
	var hints []string
	for _, group := range open {
		keys := strings.Fields(group)
		taken, err := takeConfigured(cmd, &layered, keys)
		wrong.Add(err)
		if !taken && err == nil && cmd.Annotations[group] == needed {
			wrong.Add(fmt.Errorf("cannot go on: %s is not given", strings.Join(keys, " or ")))
			hints = append(hints, howToGive(keys...))
		}
	}
	wrong.Add(checkPlaces(cmd))
	return fail(exitUsage, strings.Join(hints, "; "), wrong.Err())
}

// readConfiguration reads file and environment. The error of a broken configuration names every
// problem.
func readConfiguration(cmd *cobra.Command, given string) (settings.Merged, error) {
	layered, err := settings.Read(settings.File(given), os.Environ(), func(name string) {
		// Clusters set variables of such names too.
		if near := settings.MeantVariable(name); near != "" {
			cmd.PrintErrf("note: environment variable %s is no setting%s\n", name, near)
		}
	})

	// A file that cannot be read has no mistake.
	if hint, unread := unreadableHint(err); unread {
		return layered, fail(exitFailure, hint, err)
	}
	if err != nil {
		err = errors.Join(err, layered.Validate())
	}
	hint := "run: ninepocket config check --config " + shellWords([]string{settings.File(given)})
	return layered, fail(exitUsage, hint, err)
}

// takeConfigured gives a command the first of several settings that is configured.
func takeConfigured(cmd *cobra.Command, layered *settings.Merged, keys []string) (taken bool, err error) {
	for _, key := range keys {
		value, origin := layered.Text(key)
		if origin == "" || value == "" {
			continue
		}

		// Set of the flag set would count as given, and hints would repeat it.
		flag := cmd.Flags().Lookup(flagOf(key))
		flag.Annotations = map[string][]string{originOf: {origin}}
		err := flag.Value.Set(value)
		if err != nil {
			err = fmt.Errorf("cannot use %s (%s): %w", key, origin, err)
		}
		return err == nil, err
	}
	return false, nil
}

// howToGive says where settings of which one is enough can be given.
func howToGive(keys ...string) string {
	var ways []string
	for _, key := range keys {
		ways = append(ways, fmt.Sprintf("give --%s, or write %s into the configuration (--config, NINEPOCKET_CONFIG), "+
			"or set %s", flagOf(key), key, settings.ByKey(key).EnvName()))
	}
	return strings.Join(ways, "; or ")
}

// checkPlaces refuses folders and URLs of another kind. serve checks its own with its settings, of
// which the store may be a bucket.
func checkPlaces(cmd *cobra.Command) error {
	var wrong settings.Problems

	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := f.Value.String()
		if !f.Changed && value == "" || len(cmd.Annotations) == 0 && f.Name != "state" {
			return
		}

		switch f.Name {
		case "store", "state":
			// fleet check looks at a bucket.
			if cmd.Flags().Lookup("publishers") == nil {
				wrong.Add(settings.CheckFolder(f.Name, value))
			}
		case "control":
			wrong.Add(settings.CheckControl(value))
		}
	})
	return wrong.Err()
}

// originLines say where the folders and URLs that an error names come from, if no flag gave them.
func originLines(cmd *cobra.Command, failed *exitError) (lines []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := settings.Redact(f.Value.String())
		// Messages about a URL name its host alone.
		named := failed.code == exitUsage || strings.Contains(value, "://") ||
			strings.Contains(failed.Error()+failed.hint, value)
		if origin := f.Annotations[originOf]; len(origin) > 0 && named {
			lines = append(lines, fmt.Sprintf("--%s %s comes from %s", f.Name, value, origin[0]))
		}
	})
	return lines
}
