package text

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestDbg(t *testing.T) {
	c := officialCatalog(t)
	if os.Getenv("TC") != "" {
		c = tcgcsvCatalog(t)
	}
	for _, l := range strings.Split(os.Getenv("Q"), "\n") {
		q, g, _ := strings.Cut(l, "|")
		g = map[string]string{"": "pokemon", "O": "one-piece", "*": "*"}[g]
		r := c.search(q, g)
		s := ""
		for i, x := range r {
			if i < 4 {
				s += fmt.Sprintf(" ; %s #%s (%s)", x.name, x.number, x.set)
			}
		}
		fmt.Printf("%-28s %5d %s\n", q, len(r), s)
	}
}
