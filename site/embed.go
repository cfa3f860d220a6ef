package site

import (
	"github.com/valyala/quicktemplate"

	"ninepocket/engine"
	"ninepocket/site/picture"
)

// embedCard is a card on a page of somebody else.
type embedCard struct {
	*Pages
	view *engine.View
	card int
}

// Embed appends a small page of a card with its price, for a frame on somebody else's page.
func (p *Pages) Embed(dst []byte, v *engine.View, card int) []byte {
	framed := embedCard{Pages: p, view: v, card: card}
	return render(dst, func(w *quicktemplate.Writer) { framed.streamdocument(w) })
}

// Preview is the picture that others show beside a link to a card, as PNG.
func (p *Pages) Preview(v *engine.View, card int) ([]byte, error) {
	c := v.Catalog
	preview := picture.Preview{
		Placeholder: placeholderOf(c, card), Title: c.Cards.Name.At(card), About: aboutCard(c, card, true),
		Price: "No current price",
		When:  momentOf(c.SnapshotAt).Text,
	}
	if lane := int(c.Cards.Display[card]); lane >= 0 {
		preview.Price = dollars(c.Lanes.Cents[lane])
		preview.When = joined(laneName(c, lane), momentOf(c.UpdatedAt(lane)).Text)
	}
	return preview.PNG()
}
