// Command check runs the benchmarks that bench/budgets.json names and fails over their budgets.
//
// A budget is a ratio of two benchmarks of one run, or a bound on a figure that does not depend on
// the machine, such as allocs/op. A time is not allowed as a budget, because machines are shared
// and noisy.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"

	"ninepocket/bench/gobench"
)

func main() {
	budgets := flag.String("budgets", "bench/budgets.json", "the `file` of runs and budgets")
	input := flag.String("input", "", "check the output of go test -bench in a `file` instead of running anything")
	flag.Parse()
	if err := check(*budgets, *input, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench/check: %v\n", err)
		os.Exit(1)
	}
}

// check measures and compares; it returns an error when a budget is exceeded or cannot be checked.
func check(budgets, input string, out io.Writer) error {
	text, err := os.ReadFile(budgets)
	if err != nil {
		return fmt.Errorf("cannot read the budgets: %w", err)
	}

	p, err := parsePlan(text)
	if err != nil {
		return fmt.Errorf("cannot use the budgets of %q: %w", budgets, err)
	}

	measured := gobench.Figures{}
	if input != "" {
		text, err := os.ReadFile(input)
		if err != nil {
			return fmt.Errorf("cannot read benchmark output: %w", err)
		}
		measured.Read(text)
	} else if err := p.measure(measured, out); err != nil {
		return err
	}

	verdicts := p.judge(measured)
	if err := printTable(out, verdicts); err != nil {
		return err
	}

	failed := 0
	for _, v := range verdicts {
		if !v.met {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d budgets are exceeded or cannot be checked", failed, len(verdicts))
	}
	return nil
}

// repeats bounds how often a run is measured again for an exceeded ratio. The shortest time counts: a
// short disturbance has no effect, and a real cost stays.
const repeats = 2

// measure runs all benchmarks, and those behind an exceeded ratio again.
func (p *plan) measure(measured gobench.Figures, progress io.Writer) error {
	again := p.Runs
	for range 1 + repeats {
		for i := range again {
			text, err := again[i].measure(progress)
			if err != nil {
				return err
			}
			measured.Read(text)
		}

		again = p.exceeded(measured)
	}
	return nil
}

// measure runs the benchmarks of a run, one package after the other so that they do not disturb
// each other.
func (r *run) measure(progress io.Writer) ([]byte, error) {
	arguments := append([]string{
		"test", "-run", "^$", "-bench", r.Bench, "-benchmem", "-benchtime", r.Benchtime, "-count",
		strconv.Itoa(r.Count), "-p", "1", "-timeout", "10m",
	}, r.Packages...)
	if _, err := fmt.Fprintf(progress, "go %s\n", strings.Join(arguments, " ")); err != nil {
		return nil, err
	}

	command := exec.Command("go", arguments...) //nolint:gosec // the budgets file is ours
	// A separate module, such as a client, is measured from within.
	if _, err := os.Stat(filepath.Join(r.Packages[0], "go.mod")); err == nil {
		command.Dir = r.Packages[0]
		command.Args[len(command.Args)-1] = "."
	}
	var text bytes.Buffer
	command.Stdout = &text
	command.Stderr = &text
	if err := command.Run(); err != nil {
		return nil, errors.Join(fmt.Errorf("cannot run the benchmarks of %s: %w", strings.Join(r.Packages, " "), err),
			errors.New(tail(text.String(), 30)))
	}
	return text.Bytes(), nil
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

func printTable(out io.Writer, verdicts []budgetResult) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nBUDGET\tMEASURED\tALLOWED\tVERDICT")
	for _, v := range verdicts {
		result := "ok"
		if !v.met {
			result = "FAIL"
		}

		measured := strconv.FormatFloat(v.measured, 'g', 4, 64) + " " + v.unit
		if v.missing != "" {
			measured = "no result for " + v.missing
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", v.name, measured, v.allowed, result)
	}
	return table.Flush()
}
