// Command figures measures the tables of docs/dev/BENCHMARKS.md and writes each between its markers:
//
//	figures budgets   every row of the budget table
//	figures scale     how cost grows with the catalog, and docs/dev/scaling.svg
//	figures compare   other stacks compared with ours
//
// make bench-table, bench-plot and bench-compare run it from the module's root. The figures of
// bench/drive, compared with net/http and any other servers, are printed by
//
//	figures loop
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/bench"
	"ninepocket/bench/rivals"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := rootCommand().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench/figures: %v\n", err)
		os.Exit(1)
	}
}

// settings are common to all measurements.
type settings struct {
	binary   string // of ninepocket
	driver   string // of bench/drive
	document string
	data     string // folder with the real catalogs
	options  bench.Options
	self     []string // the command line that does a task of package rivals
	load     string   // of the machine when the measurement began
}

// ownFlags returns the arguments without the sub-command and those that make always gives.
func ownFlags(arguments []string) []string {
	var own []string
	for i := 1; i < len(arguments); i++ {
		switch arguments[i] {
		case "--data", "--binary", "--driver":
			i++
		default:
			own = append(own, arguments[i])
		}
	}
	return own
}

// machine returns the name of the processors.
func machine() string {
	// On other systems they have no name.
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(text), "model name")
	model, _, _ = strings.Cut(strings.TrimLeft(model, " \t:"), "\n")
	return strings.TrimSpace(fmt.Sprintf("%d processors %s", runtime.NumCPU(), model))
}

// load returns the load average over a minute; on a quiet machine it is 0.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	first, _, _ := strings.Cut(string(text), " ")
	return cmp.Or(first, "unknown")
}

func rootCommand() *cobra.Command {
	s := &settings{}
	root := &cobra.Command{
		Use: "figures", Short: "Measure the tables of docs/dev/BENCHMARKS.md", SilenceUsage: true,
		SilenceErrors: true,
	}

	f := root.PersistentFlags()
	f.StringVar(&s.binary, "binary", "bin/ninepocket", "the ninepocket to measure")
	f.StringVar(&s.driver, "driver", "bin/drive", "the program of ./bench/drive, which does what needs a process")
	f.StringVar(&s.document, "document", "docs/dev/BENCHMARKS.md", "the document to write into, \"\" to print only")
	f.StringVar(&s.data, "data", "../shared/data", "folder of the real catalogs")
	f.DurationVar(&s.options.Duration, "duration", time.Second, "of a round of one operation on one server")
	f.IntVar(&s.options.Rounds, "rounds", 5, "how often the servers take turns")
	f.IntVar(&s.options.Connections, "connections", 16, "how many connections")
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		s.self = []string{self, "task"}

		// Read before anything runs, because a measurement is a load itself.
		s.load = load()
		s.options.Self = []string{s.driver, "task"}
		s.options.Serve = []string{s.binary, "serve"}
		s.options.Log = os.Stderr
		return nil
	}

	root.AddCommand(budgetsCommand(s), scaleCommand(s), compareCommand(s), loopCommand(s))
	root.AddCommand(bench.TaskCommand(rivals.Tasks()))
	return root
}

// publish prints a section and writes it into the document between its markers, with the day,
// commit, command and machine.
func (s *settings) publish(ctx context.Context, name, target, text string) error {
	if given := ownFlags(os.Args[1:]); len(given) > 0 {
		target += " BENCH_FLAGS='" + strings.Join(given, " ") + "'"
	}

	stamp := fmt.Sprintf("%s, commit %s, `make %s`; %s, load %s when it began",
		time.Now().UTC().Format(time.DateOnly), commit(ctx), target, machine(), s.load)
	text = stamp + "\n\n" + strings.TrimSpace(text)
	if _, err := fmt.Println(text); err != nil || s.document == "" {
		return err
	}

	old, err := os.ReadFile(s.document)
	if err != nil {
		return fmt.Errorf("cannot read the document: %w", err)
	}
	changed, err := replaceSection(string(old), name, text)
	if err != nil {
		return fmt.Errorf("cannot write into %q: %w", s.document, err)
	}
	return os.WriteFile(s.document, []byte(changed), 0o644) //nolint:gosec // git has it so
}

// replaceSection replaces the text between the two markers of a section.
func replaceSection(document, name, text string) (string, error) {
	open := "<!-- " + name + " -->\n"
	end := "<!-- end of " + name + " -->"

	// The text outside the markers stays.
	head, rest, ok := strings.Cut(document, open)
	_, foot, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", errors.New("it has no section " + name + ", between " + strings.TrimSpace(open) + " and " + end)
	}
	return head + open + text + "\n" + end + foot, nil
}

// commit returns the commit that is checked out, with a plus if files other than documents differ
// from it.
func commit(ctx context.Context) string {
	id, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return "unknown"
	}

	// Changes of documents do not affect measurements.
	changed, err := exec.CommandContext(ctx, "git", "status", "--porcelain", "--", ".", ":!docs").Output()
	if err != nil || len(changed) > 0 {
		return strings.TrimSpace(string(id)) + "+"
	}
	return strings.TrimSpace(string(id))
}
