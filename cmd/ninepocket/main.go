// Command ninepocket builds, publishes and serves catalogs of trading cards with their market
// prices.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"ninepocket/cardvocab"
	"ninepocket/internal/term"
)

// numberError matches the flag parser's text for an invalid number.
var numberError = regexp.MustCompile(`strconv\.Parse(Int|Uint|Float): parsing "[^"]*": ` +
	`(invalid syntax|value out of range)`)

// The linker sets linked, its commit and the day of that.
var (
	linked    string
	commit    string
	committed string
)

// version is that of the release, of the module that go install took, or "dev".
var version = cmp.Or(linked, installedVersion(), "dev")

// installedVersion returns the version of the module, "" unless the program was built from a published one.
func installedVersion() string {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Sum == "" {
		return ""
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// Exit codes.
const (
	exitOK = iota
	exitFailure
	exitUsage
	exitRefused  // failed verification, or refused by a guard
	exitNotReady // serve has no keys or no loadable snapshot
)

// exitError is an error with its exit code and hint.
type exitError struct {
	err  error
	code int
	hint string // for the operator, "" for none
}

func (failed *exitError) Error() string { return failed.err.Error() }
func (failed *exitError) Unwrap() error { return failed.err }

// run is the whole program, except the process around it.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := rootCommand()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}

	// Errors of cobra itself are mistakes in the command line.
	failed := &exitError{code: exitUsage, hint: "run '" + ran.CommandPath() + " --help'" + nearestName(ran, err)}
	if known, ok := errors.AsType[*exitError](err); ok {
		failed = known
	}

	// Every message has the name of the program once, and what it cannot do.
	text := strings.TrimPrefix(err.Error(), "ninepocket: ")
	text = numberError.ReplaceAllString(text, `want a number`)
	if !strings.HasPrefix(text, "cannot ") {
		text = "cannot run the command: " + text
	}
	// The last lines of a server go to its log writer, which never blocks.
	last := ran.ErrOrStderr()
	_, _ = fmt.Fprintln(last, "ninepocket: "+text)
	if failed.hint != "" {
		_, _ = fmt.Fprintln(last, "hint: "+failed.hint)
	}
	for _, origin := range originLines(ran, failed) {
		_, _ = fmt.Fprintln(last, "note: "+origin)
	}
	return failed.code
}

func rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "ninepocket",
		Short: "A catalog and market-price server for trading cards",
		Long: "ninepocket turns catalogs and daily price feeds of trading cards into snapshots, publishes them,\n" +
			"and serves the current one over REST (/v1) and MCP (/mcp).\n\n" +
			"Start with: ninepocket demo",
		Example: "  ninepocket demo\n" +
			"  ninepocket daily --config ninepocket.toml\n" +
			"  ninepocket serve --config ninepocket.toml",
		SilenceUsage:  true,
		SilenceErrors: true,
		// nearestName does it for all commands.
		DisableSuggestions: true,
	}

	addGroup(root, "Try it and run it:", demoCommand(), serveCommand(), dailyCommand(), statusCommand(),
		supportBundleCommand(), notifyCommand(),
		healthcheckCommand(),
		parentCommand("config", "Check, print and begin the configuration of serve", configCheck(), configPrint(),
			configInit()))
	addGroup(root, "From feed to snapshot:",
		parentCommand("feed", "Bring price feeds onto this machine", feedPull()),
		parentCommand("mapping", "Supply data missing from the feeds (packs per box, set aliases)", mappingSuggest()),
		parentCommand("snapshot", "Build, publish and look at snapshots", snapshotBuild(), snapshotPublish(),
			snapshotRollback(), snapshotList(), snapshotInspect(), snapshotVerify(), snapshotDiff(), snapshotExplain(),
			snapshotPrune(),
			snapshotLog(), snapshotPush(), snapshotPull(),
			parentCommand("trust", "Manage the publisher keys that servers trust", trustInit(), trustAdd(),
				trustRetire()),
			pinCommand("pin"), pinCommand("unpin"), pinCommand("hold"), pinCommand("unhold")))
	addGroup(root, "Keys and bills:",
		parentCommand("keys", "Create, list, revoke and rotate API keys", keysCreate(), keysList(), keysRevoke(),
			keysRotate(), keysLog(),
			parentCommand("tenant", "Change what a tenant may do", tenantResetDay())),
		parentCommand("tenants", "List, change, suspend and delete tenants", tenantsList(), tenantsShow(),
			tenantsSetPlan(), tenantsSuspend(), tenantsResume(), tenantsDelete(), tenantsExport()),
		parentCommand("plans", "List and change the plans that the servers of a fleet share", plansList(), plansSet(),
			plansRemove(), plansImport()),
		usageCommand(), requestCommand(),
		backupCommand(), restoreCommand(),
		parentCommand("state", "Check, copy and repair the state directory", stateVerify(), stateBackup(),
			stateRepair()),
		parentCommand("fleet", "Look at what many servers share, and take one machine into it",
			fleetCheck(), fleetStatus(), fleetForget(), fleetRevive(), fleetImport()))
	root.AddCommand(versionCommand(), unpackCommand())
	addConfigurations(root)
	addCompletions(root)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return complete(cmd) }
	return root
}

// programVersion is the output of version.
type programVersion struct {
	Version   string `json:"version"`
	Commit    string `json:"commit"`
	Committed string `json:"committed,omitempty"` // the day of the commit
	Go        string `json:"go"`
	Platform  string `json:"platform"`
}

func describeProgram() programVersion {
	return programVersion{version, commit, committed, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

func versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			details := describeProgram()

			// A build outside of the repository has no day.
			of := ""
			if details.Committed != "" {
				of = " of " + details.Committed
			}
			return printLine(cmd, details, "ninepocket %s%s (%s, %s)", details.Version, of, details.Go,
				details.Platform)
		},
	}
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

// addGroup adds commands under a heading of the root's help.
func addGroup(root *cobra.Command, title string, subs ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, sub := range subs {
		sub.GroupID = title
	}
	root.AddCommand(subs...)
}

// parentCommand returns a command that only has subcommands. Without its own RunE, cobra would show
// help for an unknown subcommand and succeed.
func parentCommand(use, short string, subs ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("unknown command %q for %q", args[0], cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
	cmd.AddCommand(subs...)
	return cmd
}

// unknownName matches the name in an error about an unknown flag or command.
var unknownName = regexp.MustCompile(`unknown (?:flag: |command ")([^"]+)`)

// nearestName suggests the flag or command that an unknown one resembles, if there is one.
func nearestName(cmd *cobra.Command, err error) string {
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}

	if found := unknownName.FindStringSubmatch(err.Error()); found != nil {
		if near := cardvocab.Nearest(found[1], slices.Values(known)); near != "" {
			return "; did you mean " + near + "?"
		}
	}
	return " for its flags"
}

// fail wraps the error of a command; nil stays nil.
func fail(code int, hint string, err error) error {
	if err == nil {
		return nil
	}
	return &exitError{err: err, code: code, hint: hint}
}

// wantsJSON reports whether a command has the flag --json.
func wantsJSON(cmd *cobra.Command) bool {
	given, _ := cmd.Flags().GetBool("json") // not every command has one
	return given
}

// newProgress shows the progress of a command, but not next to JSON.
func newProgress(cmd *cobra.Command) *term.Progress {
	return term.NewProgress(cmd.ErrOrStderr(), wantsJSON(cmd))
}

// printResult prints v as JSON, or calls text to print it for people.
func printResult(cmd *cobra.Command, v any, text func(out *bufio.Writer)) error {
	if wantsJSON(cmd) {
		return term.JSON(cmd.OutOrStdout(), v)
	}

	// Flush returns the first error of the writer.
	out := bufio.NewWriter(cmd.OutOrStdout())
	text(out)
	return out.Flush()
}

// printLine prints v as JSON, or a line for people.
func printLine(cmd *cobra.Command, v any, format string, args ...any) error {
	return printResult(cmd, v, func(out *bufio.Writer) { fmt.Fprintf(out, format+"\n", args...) })
}

// printTable prints rows as JSON, or the cells of each under a header.
func printTable[T any](cmd *cobra.Command, rows []T, header string, cells func(T) []any) error {
	return printResult(cmd, rows, func(out *bufio.Writer) { term.Table(out, header, rows, cells) })
}

// printCSV prints lines of cells under a header, whose words are written in lower case.
func printCSV(cmd *cobra.Command, header string, lines [][]any) error {
	out := csv.NewWriter(cmd.OutOrStdout())
	_ = out.Write(strings.Fields(strings.ToLower(header)))
	for _, line := range lines {
		texts := make([]string, len(line))
		for i, cell := range line {
			texts[i] = fmt.Sprint(cell)
		}
		_ = out.Write(texts)
	}

	// Error returns the first error of the writer.
	out.Flush()
	return out.Error()
}

// plainWord matches words that need no quotes in a shell.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// shellWords quotes words so that they can be pasted into a shell.
func shellWords(words []string) string {
	quoted := slices.Clone(words)
	for i, word := range words {
		if !plainWord.MatchString(word) {
			quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}
