package bench

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report has the results of a run.
type Report struct {
	Cards       int // 0 if the server was running before
	Connections int
	Rounds      int
	Duration    time.Duration
	Processors  int
	Servers     []string
	Operations  []Measured
	Memory      map[string]int64 // memory of each server's processes at the end, in bytes
}

// Measured has the results of one operation, by server.
type Measured struct {
	Name, About string
	Depth       int
	Results     map[string]Result
}

// Result is the result of one operation on one server: medians over the rounds.
type Result struct {
	Rate           float64 // requests per second; client and server share the machine
	CPU            float64 // µs of the server per request, 0 if unknown
	Client         float64 // µs of the client per request
	P50, P99, P999 float64 // µs, from sending to the last byte
	Bytes          float64 // of a body
	Failures       int64
}

func (r *run) newReport() *Report {
	report := &Report{
		Cards: r.built.Counts.Cards, Connections: r.o.Connections, Rounds: r.o.Rounds, Duration: r.o.Duration,
		Processors: runtime.GOMAXPROCS(0), Memory: map[string]int64{},
	}

	for _, c := range r.contestants {
		report.Servers = append(report.Servers, c.name)
	}
	return report
}

func (r *Report) add(op *Operation, able []*contestant, samples map[string][]Sample) {
	m := Measured{Name: op.Name, About: op.About, Depth: op.Depth, Results: map[string]Result{}}
	for _, c := range able {
		m.Results[c.name] = summarize(samples[c.name])
	}
	r.Operations = append(r.Operations, m)
}

func summarize(rounds []Sample) Result {
	var failures int64
	for i := range rounds {
		failures += rounds[i].Failures
	}

	middle := func(of func(*Sample) float64) float64 {
		values := make([]float64, len(rounds))
		for i := range rounds {
			values[i] = of(&rounds[i])
		}
		// The median of an even number of rounds is the mean of the two in the middle.
		slices.Sort(values)
		n := len(values)
		return (values[n/2] + values[(n-1)/2]) / 2
	}

	each := func(part func(*Sample) time.Duration) func(*Sample) float64 {
		return func(s *Sample) float64 { return micros(part(s)) / float64(max(s.Requests, 1)) }
	}
	quantile := func(q float64) float64 {
		return middle(func(s *Sample) float64 { return micros(s.Latency.Quantile(q)) })
	}
	return Result{
		Rate:   middle(func(s *Sample) float64 { return float64(s.Requests) / s.Wall.Seconds() }),
		CPU:    middle(each(func(s *Sample) time.Duration { return s.CPU })),
		Client: middle(each(func(s *Sample) time.Duration { return s.Client })),
		P50:    quantile(0.5), P99: quantile(0.99), P999: quantile(0.999),
		Bytes:    middle(func(s *Sample) float64 { return float64(s.Bytes) / float64(max(s.Requests, 1)) }),
		Failures: failures,
	}
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Share returns another server's CPU time per request as a fraction of the full server's, 0 if
// either is unknown.
func (m *Measured) Share(other string) float64 {
	own := m.Results[full].CPU
	beside := m.Results[other].CPU
	if own == 0 {
		return 0
	}
	return beside / own
}

// Print writes the report as text.
func (r *Report) Print(out io.Writer) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "OPERATION\tSERVER\tREQUESTS/S\tCPU µs\tRATIO\tCLIENT µs\tp50 µs\tp99 µs\tp99.9 "+
		"µs\tBYTES\tFAILED\t\n")

	for i := range r.Operations {
		m := &r.Operations[i]
		name := m.Name
		for _, server := range r.Servers {
			v, ok := m.Results[server]
			if !ok {
				continue
			}
			fmt.Fprintf(t, "%s\t%s\t%.0f\t%s\t%s\t%.2f\t%.0f\t%.0f\t%.0f\t%.0f\t%d\t\n", name, server, v.Rate,
				figure(v.CPU),
				percent(m.Share(server)), v.Client, v.P50, v.P99, v.P999, v.Bytes, v.Failures)
			name = ""
		}
	}

	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out,
		"\n%d connections, %d rounds of %v a server and operation, interleaved; medians over the rounds; %d "+
			"processors shared with the client.\n"+
			"CPU is the server process's, user and system, a request. Latency is of a closed loop, of a whole "+
			"burst where requests are pipelined,\n"+
			"and not corrected for the requests that a slow answer held back.\n", r.Connections, r.Rounds, r.Duration,
		r.Processors)
	return err
}

// Markdown returns the report as a table: CPU time, rate and p99 of each server for every
// operation.
func (r *Report) Markdown() string {
	var w strings.Builder
	fmt.Fprintf(&w, "| operation | %s |\n|---|%s\n", strings.Join(r.Servers, " | "),
		strings.Repeat("---|", len(r.Servers)))

	for i := range r.Operations {
		m := &r.Operations[i]
		fmt.Fprintf(&w, "| %s |", m.About)
		for _, server := range r.Servers {
			v, ok := m.Results[server]
			if !ok {
				w.WriteString(" – |")
				continue
			}
			fmt.Fprintf(&w, " %s µs · %s/s · %s |", figure(v.CPU), thousands(v.Rate), latency(v.P99))
		}
		w.WriteString("\n")
	}

	fmt.Fprintf(&w, "| memory at the end |")
	for _, server := range r.Servers {
		fmt.Fprintf(&w, " %d MB |", r.Memory[server]/1e6)
	}
	return w.String() + "\n"
}

// figure formats a number with about three digits.
func figure(v float64) string {
	switch {
	case v == 0:
		return "–"
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

func percent(share float64) string {
	if share == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// thousands formats a rate.
func thousands(v float64) string {
	if v >= 10_000 {
		return fmt.Sprintf("%.0fk", v/1000)
	}
	if v >= 1000 {
		return fmt.Sprintf("%.1fk", v/1000)
	}
	return fmt.Sprintf("%.0f", v)
}

// latency formats microseconds as a p99.
func latency(us float64) string {
	if us >= 1000 {
		return "p99 " + figure(us/1000) + " ms"
	}
	return "p99 " + figure(us) + " µs"
}

// Operation returns the results of one operation, empty ones if it was not measured.
func (r *Report) Operation(name string) *Measured {
	for i := range r.Operations {
		if r.Operations[i].Name == name {
			return &r.Operations[i]
		}
	}
	return &Measured{}
}
