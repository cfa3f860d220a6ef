package main

import (
	"errors"
	"fmt"
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
		Use: "check", Short: "Check what serve would run with and name every problem; exit 2 when there is one",
		Args: cobra.NoArgs,
		Long: "Reads file, environment and flags exactly as serve does, checks them, and reads the certificate " +
			"where one is\n" +
			"configured. It does not look at the store. Of the state directory it reads the keys, if any,\n" +
			"and names those whose plan is not configured. What a fleet shares: ninepocket fleet check.",
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
				cmd.PrintErrln("hint: base_url tells of a proxy in front and trusted_proxies names none: " +
					"all who ask for pages through it share one allowance")
			}
			if layered.Control != "" && layered.Metering == "" {
				cmd.PrintErrln("hint: control is given and metering is not: each server counts limits for itself")
			}
			hintPlans(cmd, &layered)
			return printLine(cmd, false, nil, "the configuration is good")
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
			cmd.PrintErrf("hint: plan %s admits %d idempotent batches in ten minutes, and replies_max keeps %d: "+
				"what is beyond gets 503\n", name, n, layered.MaxIdempotencyRecords)
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
	var asJSON bool
	cmd := &cobra.Command{
		Use: "print", Short: "Print what serve would run with, and where each value came from", Args: cobra.NoArgs,
		Long: `Prints the merged configuration as a TOML file that --config would take, each value with its origin: the
default, a line of the file, an environment variable or a flag. Passwords in URLs are not printed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			return printResult(cmd, asJSON, layered.Rows(), layered.Print)
		},
	}

	flags = addConfigFlags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
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
			path := "ninepocket.toml"
			if len(args) > 0 {
				path = args[0]
			}

			text := settings.Example()
			if path == "-" {
				_, err := cmd.OutOrStdout().Write(text)
				return err
			}
			if err := writeNewFile(path, text); err != nil {
				return fail(exitFailure, "name another file, or - for the terminal",
					fmt.Errorf("cannot write configuration: %w", err))
			}
			return printLine(cmd, false, nil, "wrote %s", path)
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

func addConfigFlags(cmd *cobra.Command) *configFlags {
	flags := &configFlags{cmd: cmd, values: settings.Default()}
	cmd.Flags().StringVar(&flags.path, "config", "", "TOML configuration `FILE`")
	addFlags(cmd, &flags.values)
	return flags
}

// addFlags defines the flags of the settings with the given keys, or of all that have one, with
// values in config.
func addFlags(cmd *cobra.Command, config *settings.Config, keys ...string) {
	f := cmd.Flags()
	for _, setting := range settings.Settings {
		if !setting.Flag || len(keys) > 0 && !slices.Contains(keys, setting.Key) {
			continue
		}

		switch ptr := setting.Pointer(config, "").(type) {
		case *string:
			f.StringVar(ptr, setting.FlagName(), *ptr, setting.Help)
		case *bool:
			f.BoolVar(ptr, setting.FlagName(), *ptr, setting.Help)
		case *int:
			f.IntVar(ptr, setting.FlagName(), *ptr, setting.Help)
		default:
			// A programming error in the tags.
			panic("flag of a kind that no flag has: " + setting.Key)
		}
	}
}

// read merges all layers as they are now and validates the result. The error joins every problem.
func (flags *configFlags) read() (settings.Merged, error) {
	layered, err := settings.Read(settings.File(flags.path), os.Environ(), func(name string) {
		flags.cmd.PrintErrf("note: environment variable %s is not a setting of ninepocket%s\n", name, meant(name))
	})

	// Given flags win over all other layers.
	for _, setting := range settings.Settings {
		if setting.Flag && flags.cmd.Flags().Changed(setting.FlagName()) {
			layered.Override(setting, &flags.values, "flag --"+setting.FlagName())
		}
	}
	return layered, errors.Join(err, layered.Validate())
}

// meant suggests the variable that an unknown one resembles, if there is one.
func meant(variable string) string {
	near := settings.NearestVariable(variable)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

// ofConfiguration ends the help of a flag that the configuration may give.
const ofConfiguration = " (default: of the configuration)"

// Annotations of flags.
const (
	settingsOf = "settings" // on the flags of several settings of which one is enough, their keys
	originOf   = "origin"   // where the configuration has the value from
	needed     = true       // of configured: the command cannot go on without
	optional   = false
)

// configured lets the configuration give a flag of a command that is not given. Of several settings
// one is enough: any that is given as a flag, else the first that is configured.
func configured(cmd *cobra.Command, need bool, keys ...string) {
	for _, key := range keys {
		given := append([]string{strconv.FormatBool(need)}, keys...)
		if err := cmd.Flags().SetAnnotation(flagOf(key), settingsOf, given); err != nil {
			// The flag is not defined: a programming error.
			panic(err)
		}
	}
}

// flagOf returns the flag of a setting, which lacks the name of a table.
func flagOf(key string) string {
	return strings.ReplaceAll(key[strings.LastIndexByte(key, '.')+1:], "_", "-")
}

// addConfigurations gives the flag --config to all commands whose flags the configuration may give.
func addConfigurations(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addConfigurations(cmd)
		if _, has := openSettings(cmd); has && cmd.Flags().Lookup("config") == nil {
			cmd.Flags().String("config", "", "TOML configuration `FILE` (default: $NINEPOCKET_CONFIG)")
		}
	}
}

// openSettings returns the settings that no flag gives, each with those that stand for it. has is
// false for a command that has none at all.
func openSettings(cmd *cobra.Command) (all [][]string, has bool) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		given := f.Annotations[settingsOf]
		if len(given) == 0 || flagOf(given[1]) != f.Name {
			return
		}
		has = true
		if !slices.ContainsFunc(given[1:], func(key string) bool { return cmd.Flags().Changed(flagOf(key)) }) {
			all = append(all, given)
		}
	})
	return all, has
}

// complete gives a command what its flags lack from the configuration, and checks folders and URLs.
// A command whose flags give all that it needs reads no file that is not named.
func complete(cmd *cobra.Command) error {
	open, has := openSettings(cmd)
	config := cmd.Flags().Lookup("config")
	if !has || len(open) == 0 && !config.Changed {
		return fail(exitUsage, "", checkPlaces(cmd))
	}
	layered, err := readConfiguration(cmd, config.Value.String())
	if err != nil {
		return err
	}

	var wrong settings.Problems
	var hints []string
	for _, given := range open {
		taken, err := takeConfigured(cmd, &layered, given[1:])
		wrong.Add(err)
		if err == nil && !taken && given[0] == strconv.FormatBool(needed) {
			wrong.Add(errors.New("cannot go on: " + strings.Join(given[1:], " or ") + " is not given"))
			hints = append(hints, howToGive(given[1:], config.Value.String()))
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
		if near := meant(name); near != "" {
			cmd.PrintErrf("note: environment variable %s is no setting%s\n", name, near)
		}
	})

	// A file that cannot be read has no mistake.
	if hint, unread := unreadableHint(err); unread {
		return layered, fail(exitFailure, hint, err)
	}
	if err != nil {
		hint := "run: ninepocket config check"
		if path := settings.File(given); path != "" {
			hint += " --config " + shellWords([]string{path})
		}
		return layered, fail(exitUsage, hint, errors.Join(err, layered.Validate()))
	}
	return layered, nil
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
		if err := flag.Value.Set(value); err != nil {
			return false, fmt.Errorf("cannot use %s (%s): %w", key, origin, err)
		}
		flag.Annotations[originOf] = []string{origin}
		return true, nil
	}
	return false, nil
}

// howToGive says where a setting can be given.
func howToGive(keys []string, config string) string {
	var flags, variables []string
	for _, key := range keys {
		flags = append(flags, "--"+flagOf(key))
		variables = append(variables, settings.ByKey(key).EnvName())
	}

	file := "the configuration, which --config or NINEPOCKET_CONFIG names"
	if path := settings.File(config); path != "" {
		file = path
	}
	return "give " + strings.Join(flags, " or ") + ", or write " + strings.Join(keys, " or ") + " into " + file +
		", or set " + strings.Join(variables, " or ")
}

// checkPlaces refuses folders and URLs of another kind. serve checks its own with its settings, of
// which the store may be a bucket.
func checkPlaces(cmd *cobra.Command) error {
	folder := func(name string) func(string) error {
		return func(value string) error { return settings.CheckFolder(name, value) }
	}
	checks := map[string]func(string) error{
		"store": folder("store"), "state": folder("state"),
		"control": settings.CheckControl, "metering": settings.CheckMetering,
	}

	var wrong settings.Problems
	for name, check := range checks {
		flag := cmd.Flags().Lookup(name)
		if flag == nil || len(flag.Annotations[settingsOf]) == 0 && name != "state" {
			continue
		}
		if flag.Changed || flag.Value.String() != "" {
			wrong.Add(check(flag.Value.String()))
		}
	}
	return wrong.Err()
}

// originLines say where the folders and URLs that an error names come from, if no flag gave them.
func originLines(cmd *cobra.Command, failed *exitError) (lines []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := settings.Redact(f.Value.String())
		origin := f.Annotations[originOf]
		// Messages about a URL name its host alone.
		named := failed.code == exitUsage || strings.Contains(value, "://") ||
			strings.Contains(failed.Error()+failed.hint, value)
		if len(origin) > 0 && named {
			lines = append(lines, fmt.Sprintf("--%s %s comes from %s", f.Name, value, origin[0]))
		}
	})
	return lines
}
