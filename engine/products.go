package engine

import (
	"bytes"
	"slices"

	"github.com/cespare/xxhash/v2"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

// hashProducts hashes all products, and calls step, which may pause, before each chunk. Preview
// pagination may continue in another catalog if its products are equal, byte for byte (decision 29).
func (v *View) hashProducts(step func()) {
	hash := xxhash.New()
	for _, chunk := range v.products.chunks {
		step()
		_, _ = hash.Write(chunk) // it cannot fail
	}

	v.ProductsHash = hash.Sum64()
}

// shareProducts uses the products of another View if they are equal, byte for byte. The prices of a day
// change no product, so two Views share one copy. It calls step, which may pause or be nil.
func (v *View) shareProducts(other *View, step func()) {
	if other == nil || v.ProductsHash != other.ProductsHash ||
		!slices.Equal(v.products.ranges, other.products.ranges) {
		return
	}

	same := slices.EqualFunc(v.products.chunks, other.products.chunks, func(chunk, others []byte) bool {
		if step != nil {
			step()
		}
		return bytes.Equal(chunk, others)
	})
	if same {
		v.products = other.products
	}
}

// productTail removes the prefix of a public product id. For an id with another prefix it returns
// "", which is the tail of no product.
func (v *View) productTail(id string) string {
	n := len(v.site.ProductPrefix)
	if len(id) <= n+1 || id[:n] != v.site.ProductPrefix || id[n] != '_' {
		return ""
	}
	return id[n+1:]
}

// Product returns the JSON of a product by its public id.
func (v *View) Product(id string) ([]byte, bool) {
	row, ok := v.Index.Products().Row(v.productTail(id))
	if !ok {
		return nil, false
	}

	return v.products.at(row), true
}

// AppendProducts appends products, joined by commas. A row is a product's index in the order of
// public ids.
func (v *View) AppendProducts(dst []byte, rows []uint32) []byte { return v.products.join(dst, rows) }

// AppendPrice appends the price result of a selection. It checks the selection in the order of
// decision 27: first the id, then the kind and the lane, then the licence, last the price. Variant
// and condition match exactly.
func (v *View) AppendPrice(dst []byte, selection *wire.Selection) []byte {
	c := v.Catalog
	item, ok := v.Index.Products().Find(v.productTail(selection.ProductID))
	if !ok {
		return wire.AppendMissing(dst, selection, wire.ReasonNotFound)
	}

	isCard := item < c.Cards.ID.Len()
	lane := -1
	if isCard == (selection.Kind == "card") {
		lane = v.lane(item, selection)
	}

	switch {
	case lane < 0:
		// A sealed product is a supported selection even if it has no observation.
		if !isCard && selection.Kind == "sealed" {
			return wire.AppendMissing(dst, selection, wire.ReasonNoObservation)
		}
		return wire.AppendMissing(dst, selection, wire.ReasonUnsupported)

	case c.Lanes.Flags[lane]&snapshot.LaneLicensed == 0:
		return wire.AppendMissing(dst, selection, wire.ReasonNotLicensed)
	case c.Lanes.Cents[lane] < 0:
		return wire.AppendMissing(dst, selection, wire.ReasonNoObservation)
	}

	return wire.AppendPriceResult(dst, c, selection, lane)
}

// lane returns the lane of an item that a selection means; it is -1 if the item has no such lane. A
// sealed product has one variant and one condition, so it has one lane.
func (v *View) lane(item int, selection *wire.Selection) int {
	c := v.Catalog
	from, to := c.Lanes.Of.Range(item)
	condition, ok := snapshot.ParseCondition(selection.Condition)
	for lane := from; lane < to; lane++ {
		if selection.Kind == "sealed" || ok && c.Lanes.Condition[lane] == uint8(condition) &&
			c.Variants.At(int(c.Lanes.Variant[lane])) == selection.Variant {
			return lane
		}
	}

	return -1
}
