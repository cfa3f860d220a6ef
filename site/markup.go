package site

import (
	"html/template"

	"ninepocket/engine"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// markup is HTML being written by hand: the parts that a page repeats, which html/template would take most of the
// time of a page for. It escapes as html/template does in text and in quoted attributes (FuzzMarkup holds the two
// together); everything else about a page is in the templates.
type markup []byte

// raw appends HTML of our own: constants of the program, numbers, dates and amounts alone.
func (m *markup) raw(parts ...string) {
	for _, part := range parts {
		*m = append(*m, part...)
	}
}

// text appends a text of anybody, for between tags and for within a quoted attribute.
func (m *markup) text(s string) {
	plain := 0 // where the part begins that needs no escape
	for i := range len(s) {
		var escape string
		switch s[i] {
		case '<':
			escape = "&lt;"
		case '>':
			escape = "&gt;"
		case '&':
			escape = "&amp;"
		case '"':
			escape = "&#34;"
		case '\'':
			escape = "&#39;"
		case 0:
			escape = "\uFFFD"
		default:
			continue
		}

		m.raw(s[plain:i], escape)
		plain = i + 1
	}
	m.raw(s[plain:])
}

func (m *markup) dollars(cents int64) { *m = appendDollars(*m, cents) }

func (m *markup) html() template.HTML { return template.HTML(*m) } //nolint:gosec // every text in it went through text

// anchor appends a link.
func (m *markup) anchor(href, text string) {
	m.raw(`<a href="`)
	m.text(href)
	m.raw(`">`)
	m.text(text)
	m.raw("</a>")
}

// change appends the difference between two prices: those of wire.AppendChange, so that they agree with the API's.
func (m *markup) change(base, cents int64) {
	if base < 0 || cents < 0 {
		m.raw(`<span class="none" title="not known">–</span>`)
		return
	}

	class := "even"
	sign := "" // a minus comes with the figures
	if cents > base {
		class = "up"
		sign = "+"
	} else if cents < base {
		class = "down"
	}
	m.raw(`<span class="`, class, `">`, sign)
	m.dollars(cents - base)

	// From nothing there is no percentage.
	if base > 0 {
		m.raw(" <small>", sign)
		from := len(*m)
		*m = wire.AppendPercent(*m, cents-base, base)
		if (*m)[from] == '-' {
			share := string((*m)[from+1:])
			*m = (*m)[:from]
			m.raw(minus, share)
		}
		m.raw("\u00a0%</small>")
	}
	m.raw("</span>")
}

// What a row of a list of cards tells beside name and price.
const (
	withChange = 1 << iota // the 7-day change of the display price
	withoutSet             // the list is of one set
)

// cards makes a list of cards, "" for none.
func (p *Pages) cards(v *engine.View, cards []uint32, show int) template.HTML {
	if len(cards) == 0 {
		return ""
	}

	m := make(markup, 0, 64+320*len(cards))
	m.raw(`<ul class="cards">`)
	for _, card := range cards {
		p.card(&m, v, int(card), show)
	}
	m.raw("\n</ul>")
	return m.html()
}

// card appends a row of a list of cards.
func (p *Pages) card(m *markup, v *engine.View, card, show int) {
	c := v.Catalog
	m.raw("\n<li>")
	if photo := p.imagePath(v, card); photo != "" {
		m.raw(`<img src="`)
		m.text(photo)
		m.raw(`" alt="" width="40" height="56" loading="lazy">`)
	}

	m.raw(`<div class="what">`)
	m.anchor(p.cardLink(c.Cards.Slug.At(card)), c.Cards.Name.At(card))
	// A list of one set says which once, above it.
	set := ""
	if show&withoutSet == 0 {
		set = setName(c, card)
	}
	m.raw("<span>")
	m.text(joined(c.Cards.Number.At(card), set, c.Cards.Rarity.At(card)))

	m.raw(`</span></div><div class="cost">`)
	cents := c.DisplayCents(card)
	if cents < 0 {
		m.raw(`<span class="none">no price</span></div>`)
		return
	}
	m.raw("<b>")
	m.dollars(cents)
	m.raw("</b>")
	if base := c.Lanes.Base7[c.Cards.Display[card]]; show&withChange != 0 && base >= 0 {
		m.change(base, cents)
	}
	m.raw("</div>")
}

// setName is the name of a card's set, "" without one.
func setName(c *snapshot.Catalog, card int) string {
	if set := c.Cards.Set[card]; set != snapshot.NoSet {
		return c.Sets.Name.At(int(set))
	}
	return ""
}

// sets makes a list of sets.
func (p *Pages) sets(v *engine.View, sets []uint32) template.HTML {
	c := v.Catalog
	m := make(markup, 0, 64+200*len(sets))
	m.raw(`<ul class="sets">`)
	for _, n := range sets {
		set := int(n)
		m.raw("\n<li>")
		m.anchor(p.setLink(c.Sets.Slug.At(set)), c.Sets.Name.At(set))
		m.raw("<span>")
		m.text(joined(c.Games.Name.At(int(c.Sets.Game[set])), released(c, set, ""), countedCards(c, set)))
		m.raw("</span>")
	}
	m.raw("\n</ul>")
	return m.html()
}

// released is the day a set was released, with a word before it; "" for a set without one.
func released(c *snapshot.Catalog, set int, before string) string {
	if c.Sets.Release[set] == snapshot.NoDay {
		return ""
	}
	return before + date(c.Sets.Release[set])
}

func countedCards(c *snapshot.Catalog, set int) string {
	return counted(int(c.Sets.Cards[set]), "card", "cards")
}

// link is a link that may lead to where one is.
type link struct {
	Text, Href string
	Here       bool
}

// tabs are links of which one is chosen.
func tabs(label string, links []link) template.HTML {
	var m markup
	m.raw(`<nav aria-label="`)
	m.text(label)
	m.raw(`"><ul class="tabs">`)

	for _, l := range links {
		m.raw("\n<li><a href=\"")
		m.text(l.Href)
		m.raw(`"`)
		if l.Here {
			m.raw(` aria-current="true"`)
		}
		m.raw(">")
		m.text(l.Text)
		m.raw("</a>")
	}
	m.raw("\n</ul></nav>")
	return m.html()
}

// lanes makes the table of a card's prices: the lanes that the API's card detail lists, in its order. It is "" for a
// card without any.
func (p *Pages) lanes(v *engine.View, card int) template.HTML {
	c := v.Catalog
	from, to := c.Lanes.Of.Range(card)
	m := make(markup, 0, 600+220*(to-from))
	m.raw(`<h2>Prices by variant and condition</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Prices by variant and condition">
<table><thead><tr><th scope="col">Variant<th scope="col">Condition<th scope="col">Price`,
		`<th scope="col">7 days<th scope="col">30 days</thead><tbody>`)

	rows := 0
	for lane := from; lane < to; lane++ {
		cents := c.Lanes.Cents[lane]
		if cents < 0 {
			continue
		}
		rows++
		m.raw("\n<tr><th scope=\"row\">")
		m.text(title(c.Variants.At(int(c.Lanes.Variant[lane]))))
		m.raw("<td>", snapshot.Condition(c.Lanes.Condition[lane]).Text(), "<td>")
		m.dollars(cents)
		m.raw("<td>")
		m.change(c.Lanes.Base7[lane], cents)
		m.raw("<td>")
		m.change(c.Lanes.Base30[lane], cents)
	}
	if rows == 0 {
		return ""
	}
	m.raw("\n</tbody></table></div>")
	return m.html()
}
