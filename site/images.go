package site

import (
	"cmp"
	"net/url"

	"ninepocket/engine"
	"ninepocket/site/picture"
	"ninepocket/snapshot"
)

// placeholderOf returns the placeholder for a picture of a card.
func placeholderOf(c *snapshot.Catalog, card int) picture.Placeholder {
	// Many feeds have no codes; then the year is shown.
	code := cmp.Or(c.OfSet(&c.Sets.Code, card), releaseYear(c, card))
	return picture.NewPlaceholder(c.Cards.Name.At(card), c.Cards.Number.At(card), c.Cards.Rarity.At(card), code,
		int(c.Cards.Game[card]))
}

// imageURLs are the URLs of a picture of a card and of its thumbnails, "" for none. Only a
// picture with thumbnails has a medium URL.
type imageURLs struct {
	original, small, medium, large, full string
}

// imagesOf returns the URLs of the picture of a card. Without thumbnails, the original replaces
// them.
func (p *Pages) imagesOf(v *engine.View, card int) imageURLs {
	file := v.Catalog.Cards.Image.At(card)
	if !v.Site().ShowsImage(file) {
		return imageURLs{}
	}

	original := p.root + "/images/" + url.PathEscape(file)
	version := p.version(file)
	if version == "" {
		return imageURLs{original: original, small: original, large: original, full: original}
	}
	copied := "-" + version + "-" + url.PathEscape(file)
	to := p.root + "/small/"
	return imageURLs{original, to + "r" + copied, to + "m" + copied, to + "p" + copied, to + "c" + copied}
}
