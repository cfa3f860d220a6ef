package engine

import (
	"github.com/cespare/xxhash/v2"

	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// hashProducts hashes all products, and calls step, which may pause, now and then. Preview pagination may
// continue in another catalog if its products are equal, byte for byte (decision 29). Hashes are added, so
// that rows are read in their own order: in that of ids, most reads would miss the caches.
func (v *View) hashProducts(step func()) {
	c := v.Catalog
	var product []byte
	for item := range c.NumItems() {
		if item&15 == 0 {
			step()
		}
		if item >= c.Cards.ID.Len() || c.Cards.Product[item] != 0 {
			product = wire.AppendProduct(product[:0], c, item, index.ProductTail(c, item), &v.site)
			v.ProductsHash += xxhash.Sum64(product)
		}
	}
}

// encodeProduct appends the JSON of a product by its index in the order of public ids. It is encoded for each
// response: partners list the products once a day, and stored ones would be a sixth of a View.
func (v *View) encodeProduct(dst []byte, row int) []byte {
	item := int(v.Index.Products().Items()[row])
	return wire.AppendProduct(dst, v.Catalog, item, index.ProductTail(v.Catalog, item), &v.site)
}

// ProductTail removes the prefix of a public product id. For an id with another prefix it returns
// "", which is the tail of no product.
func (v *View) ProductTail(id string) string {
	n := len(v.site.ProductPrefix)
	if len(id) <= n+1 || id[:n] != v.site.ProductPrefix || id[n] != '_' {
		return ""
	}
	return id[n+1:]
}

// AppendProduct appends the JSON of a product by its public id. It appends nothing for an unknown one.
func (v *View) AppendProduct(dst []byte, id string) ([]byte, bool) {
	row, ok := v.Index.Products().Row(v.ProductTail(id))
	if !ok {
		return dst, false
	}
	return v.encodeProduct(dst, row), true
}

// AppendProducts appends products, joined by commas. A row is a product's index in the order of
// public ids.
func (v *View) AppendProducts(dst []byte, rows []uint32) []byte {
	return appendJoined(dst, rows, v.encodeProduct)
}

// PriceResult returns the price of a selection, or why it has none. It checks the selection in the
// order of decision 27: first the id, then the kind and the lane, then the licence, last the price.
// Variant and condition match exactly.
func (v *View) PriceResult(selection *wire.Selection) wire.PriceResult {
	c := v.Catalog
	item, ok := v.Index.Products().Find(v.ProductTail(selection.ProductID))
	if !ok {
		return wire.PriceResult{Missing: wire.ReasonNotFound}
	}

	isCard := item < c.Cards.ID.Len()
	lane := -1
	if isCard == (selection.Kind == "card") {
		lane = v.lane(item, selection)
	}

	l := &c.Lanes
	switch {
	case lane < 0 && !isCard && selection.Kind == "sealed":
		// A sealed product is a supported selection even if it has no observation.
		return wire.PriceResult{Missing: wire.ReasonNoObservation}
	case lane < 0:
		return wire.PriceResult{Missing: wire.ReasonUnsupported}
	case l.Flags[lane]&snapshot.LaneLicensed == 0:
		return wire.PriceResult{Missing: wire.ReasonNotLicensed}
	case l.Cents[lane] < 0:
		return wire.PriceResult{Missing: wire.ReasonNoObservation}
	}

	return wire.PriceResult{
		Cents: l.Cents[lane], AsOf: l.SourceAsOf[lane], CollectedAt: l.CollectedAt[lane],
		Attribution: c.Feeds.Attribution.At(int(l.Feed[lane])),
	}
}

// lane returns the lane of an item that a selection means; it is -1 if the item has no such lane. A
// sealed product has one variant and one condition, so it has one lane.
func (v *View) lane(item int, selection *wire.Selection) int {
	c := v.Catalog
	condition, ok := snapshot.ParseCondition(selection.Condition)
	for lane, to := c.Lanes.Of.Range(item); lane < to; lane++ {
		if selection.Kind == "sealed" || ok && c.Lanes.Condition[lane] == uint8(condition) &&
			c.Variants.At(int(c.Lanes.Variant[lane])) == selection.Variant {
			return lane
		}
	}

	return -1
}
