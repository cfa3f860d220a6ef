package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"ninepocket/bench/gobench"
)

// plan is the file of budgets: the benchmarks to run, and the bounds of their results.
type plan struct {
	Runs    []run    `json:"runs"`
	Budgets []budget `json:"budgets"`
}

// run is one go test -bench.
type run struct {
	Packages  []string `json:"packages"`
	Bench     string   `json:"bench"`
	Benchtime string   `json:"benchtime,omitzero"`
	Count     int      `json:"count,omitzero"`
}

// budget bounds one figure of a benchmark, or its ratio to the same figure of another.
type budget struct {
	Name      string   `json:"name"`
	Benchmark string   `json:"benchmark"` // package from the module's root, a dot, the benchmark's name
	Over      string   `json:"over,omitzero"`
	Unit      string   `json:"unit,omitzero"` // ns/op unless given
	Max       *float64 `json:"at_most,omitzero"`
	Min       *float64 `json:"at_least,omitzero"`
}

func parsePlan(text []byte) (plan, error) {
	var p plan
	if err := json.Unmarshal(text, &p, json.RejectUnknownMembers(true)); err != nil {
		return plan{}, err
	}

	var problems []error
	for i := range p.Runs {
		p.Runs[i].setDefaults()
		if len(p.Runs[i].Packages) == 0 || p.Runs[i].Bench == "" {
			problems = append(problems, fmt.Errorf("run %d needs packages and bench", i))
		}
	}

	for i := range p.Budgets {
		if p.Budgets[i].Unit == "" {
			p.Budgets[i].Unit = "ns/op"
		}
		problems = append(problems, p.Budgets[i].validate())
	}
	return p, errors.Join(problems...)
}

func (r *run) setDefaults() {
	if r.Benchtime == "" {
		r.Benchtime = "100ms"
	}
	if r.Count == 0 {
		r.Count = 3
	}
}

func (b *budget) validate() error {
	switch {
	case b.Name == "" || b.Benchmark == "":
		return errors.New("a budget needs a name and a benchmark")
	case (b.Max == nil) == (b.Min == nil):
		return fmt.Errorf("budget %q needs at_most or at_least", b.Name)
	case b.Over == "" && gobench.WallClock(b.Unit):
		return fmt.Errorf("budget %q bounds %s by itself: name another benchmark with \"over\"", b.Name, b.Unit)
	}
	return nil
}

// budgetResult is the result of one budget.
type budgetResult struct {
	name     string
	measured float64
	unit     string
	allowed  string
	missing  string // the benchmark without a result
	met      bool
}

func (p *plan) judge(figures gobench.Figures) []budgetResult {
	var out []budgetResult
	for i := range p.Budgets {
		out = append(out, p.Budgets[i].judge(figures))
	}
	return out
}

// exceeded returns the runs whose times exceed a budget. Figures that do not depend on the machine are
// believed at once.
func (p *plan) exceeded(figures gobench.Figures) []run {
	var out []run
	for i := range p.Runs {
		measures := func(b budget) bool {
			return gobench.WallClock(b.Unit) && p.Runs[i].has(b.Benchmark) && !b.judge(figures).met
		}
		if slices.ContainsFunc(p.Budgets, measures) {
			out = append(out, p.Runs[i])
		}
	}
	return out
}

// has reports whether a run measures a benchmark, by package and function.
func (r *run) has(benchmark string) bool {
	pkg, name, _ := strings.Cut(benchmark, ".")
	function, _, _ := strings.Cut(name, "/")
	pattern, _, _ := strings.Cut(r.Bench, "$/")
	matched, err := regexp.MatchString(pattern, function)
	return err == nil && matched && slices.Contains(r.Packages, "./"+pkg)
}

func (b *budget) judge(figures gobench.Figures) budgetResult {
	v := budgetResult{name: b.Name, unit: b.Unit}
	value, found := figures.Typical(b.Benchmark, b.Unit)
	if !found {
		v.missing = b.Benchmark
	}
	if b.Over != "" {
		base, found := figures.Typical(b.Over, b.Unit)
		if !found || base == 0 {
			v.missing = b.Over
		}
		v.unit = "×"
		value /= base
	}

	v.measured = value
	if b.Max != nil {
		v.allowed = "≤ " + strconv.FormatFloat(*b.Max, 'g', -1, 64)
		v.met = value <= *b.Max
	} else {
		v.allowed = "≥ " + strconv.FormatFloat(*b.Min, 'g', -1, 64)
		v.met = value >= *b.Min
	}

	v.met = v.met && v.missing == ""
	return v
}
