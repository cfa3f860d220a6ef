package site

import (
	"net/url"

	"ninepocket/engine"
	"ninepocket/site/picture"
	"ninepocket/snapshot"
)

// placeholderOf is the face of a card.
func placeholderOf(c *snapshot.Catalog, card int) picture.Placeholder {
	code := ""
	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		code = c.Sets.Code.At(int(set))

		// Many feeds have no codes: the year tells as much.
		if code == "" && c.Sets.Release[set] != snapshot.NoDay {
			code = c.Sets.Release[set].Time().Format("2006")
		}
	}
	return picture.NewPlaceholder(c.Cards.Name.At(card), c.Cards.Number.At(card), c.Cards.Rarity.At(card), code,
		int(c.Cards.Game[card]))
}

// imageURLs is the picture of a card: where it is and its small copies, "" for none.
type imageURLs struct {
	original, small, large string
}

// imagesOf finds the picture of a card. Without small copies, the whole picture stands for them.
func (p *Pages) imagesOf(v *engine.View, card int) imageURLs {
	file := v.Catalog.Cards.Image.At(card)
	if !v.Site().ShowsImage(file) {
		return imageURLs{}
	}

	whole := p.root + "/images/" + url.PathEscape(file)
	version := p.version(file)
	if version == "" {
		return imageURLs{original: whole, small: whole, large: whole}
	}
	copied := "-" + version + "-" + url.PathEscape(file)
	return imageURLs{original: whole, small: p.root + "/small/r" + copied, large: p.root + "/small/p" + copied}
}
