package plot

import (
	"encoding/xml"
	"strings"
	"testing"
)

func TestGrid(t *testing.T) {
	svg := Grid("a < b", []Panel{
		{Title: "first", Lines: []Line{{"one & two", []Point{{1000, 0.5}, {100_000, 50}, {10, 0}}}}},
		{Title: "empty"},
	})
	if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
		t.Fatalf("not XML: %v\n%s", err, svg)
	}

	// 1000 and 100,000 are the edges of two decades; 0.5 and 50 are at 0.7 of their decade.
	for _, want := range []string{
		"a &lt; b", "one &amp; two", `points="58.0,`, ` 416.0,`, ">1k<", ">100k<", ">0.1<",
		">100<",
	} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q in\n%s", want, svg)
		}
	}

	if n := strings.Count(svg, "<circle"); n != 2 {
		t.Errorf("%d marks, want 2: a value of zero has no logarithm", n)
	}
}

func TestDecade(t *testing.T) {
	for d, want := range map[float64]string{-3: "0.001", 0: "1", 2: "100", 3: "1k", 5: "100k", 6: "1M", 7: "10M"} {
		if got := decade(d); got != want {
			t.Errorf("10^%g is %q, want %q", d, got, want)
		}
	}
}
