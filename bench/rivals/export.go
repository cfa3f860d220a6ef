package rivals

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"ninepocket/bench"
	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// exported is a card in the dump that other databases import: its card detail, and the texts
// for searches.
type exported struct {
	plainDetail
	Slug    string     `json:"slug"`
	SetCode string     `json:"set_code"`
	Display plainPrice `json:"display"`
}

// export prints every card of the current snapshot, most expensive first.
func export(ctx context.Context, task *bench.Task, out io.Writer) error {
	store := snapshot.OpenStore(task.Store)
	current, err := store.Current()
	if err != nil {
		return err
	}

	c, err := store.Load(ctx, current.ID, nil)
	if err != nil {
		return err
	}

	view, err := engine.NewView(c, wire.URLs{URL: "http://localhost", ProductPrefix: "prd"})
	if err != nil {
		return err
	}

	p := &plain{view: view}
	w := bufio.NewWriter(out)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for card := range c.Cards.ID.Len() {
		// The data that another database needs for the same responses, and no more.
		line := exported{plainDetail: p.detail(card), Slug: c.Cards.Slug.At(card), Display: p.price(card)}
		if set := c.Cards.Set[card]; set != snapshot.NoSet {
			line.SetCode = c.Sets.Code.At(int(set))
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return w.Flush()
}
