package text

import (
	"fmt"
	"os"
	"testing"
)

func TestDbg(t *testing.T) {
	c := officialCatalog(t)
	if os.Getenv("TC") != "" {
		c = tcgcsvCatalog(t)
	}
	q := os.Getenv("Q")
	for _, n := range c.index.expander.expand([]byte(q), typos) {
		fmt.Printf("near %s %d\n", c.index.words.word(n.id), n.distance)
	}
	for i, x := range c.search(q, os.Getenv("G")) {
		if i < 12 {
			fmt.Printf("%+v\n", *x)
		}
	}
	for _, h := range c.index.Search(nil, q, nil)[:0] {
		fmt.Println(h)
	}
}
