package site

import (
	"ninepocket/engine"
	"ninepocket/site/picture"
)

// embedCard is the page of a card that other sites embed.
type embedCard struct {
	*Pages
	view *engine.View
	card int
}

// Embed appends a small page of a card with its price, for a frame on another site.
func (p *Pages) Embed(dst []byte, v *engine.View, card int) []byte {
	return render(dst, (&embedCard{Pages: p, view: v, card: card}).streamdocument)
}

// Preview returns the picture that other sites show next to a link to a card, as PNG.
func (p *Pages) Preview(v *engine.View, card int) ([]byte, error) {
	c := v.Catalog
	preview := picture.Preview{
		Placeholder: placeholderOf(c, card), Title: c.Cards.Name.At(card), About: cardSubtitle(c, card, true),
		Price: "No current price",
		When:  momentOf(c.SnapshotAt).Text,
	}
	if lane := int(c.Cards.Display[card]); lane >= 0 {
		preview.Price = dollars(c.Lanes.Cents[lane])
		preview.When = joined(laneName(c, lane), momentOf(c.UpdatedAt(lane)).Text)
	}
	return preview.PNG()
}
