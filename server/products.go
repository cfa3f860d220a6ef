package server

import (
	"encoding/binary"
	"strings"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/wire"
)

const (
	maxPreviewCursor = 1024
	maxTail          = 64
)

// productsList answers GET /v1/products.
func (x *exchange) productsList() *wire.Fault {
	var f index.ProductFilter
	game := x.oneOf("game", "", "pokemon", "one_piece")
	f.Game = strings.ReplaceAll(game, "_", "-") // the live slug
	f.Kind = x.oneOf("kind", "", "card", "sealed")
	if partner, ok := x.given("partner_id"); ok {
		if !allDigits(partner) {
			x.problem("partner_id must be digits")
		}
		f.Partner = partner
	}
	limit := int(x.intArg("limit", 1, maxPage, defaultPage))
	bound := cursor.Hash("products", x.principal.Tenant, game, f.Kind, f.Partner, decimal(int64(limit)))
	after := x.openProducts(bound)
	if f := x.invalid(); f != nil {
		return f
	}
	rows, more := x.view.Index.ProductPage(x.cards[:0], f, after, limit)
	x.cards = rows
	x.body = append(x.body, `{"data":[`...)
	x.body = x.view.AppendProducts(x.body, rows)
	x.varying = len(x.body)
	x.body = append(x.body, `],"pagination":{"next_cursor":`...)
	if more {
		last := x.view.Index.Products()[rows[len(rows)-1]]
		position := binary.BigEndian.AppendUint64(x.text[:0], x.view.ProductsHash)
		position = append(position, index.ProductTail(x.view.Catalog, int(last))...)
		x.text = position
		x.body = append(x.body, '"')
		x.body = x.s.Cursors.Append(x.body, cursor.Page{Op: cursor.Products, Snapshot: x.view.Hash, Position: position}, bound, x.time)
		x.body = append(x.body, '"')
	} else {
		x.body = append(x.body, "null"...)
	}
	x.body = append(x.body, '}')
	x.appendMeta(1)
	return nil
}

// openProducts reads the cursor and turns the exchange to the catalog that the walk began in: the View while it is
// kept, else the current one when its products are the same (decision 29). It returns the last tail shown.
func (x *exchange) openProducts(bound uint64) (after string) {
	token, ok := x.textArg("cursor", maxPreviewCursor)
	if !ok || len(x.problems) > 0 {
		return ""
	}
	page, err := x.s.Cursors.Open(token, cursor.Products, bound, x.time)
	if err == nil && len(page.Position) <= 8 {
		err = cursor.ErrMalformed
	}
	if err != nil {
		x.problem(cursorProblem(err))
		return ""
	}
	if kept := x.s.Engine.Retained(page.Snapshot); kept != nil {
		x.view = kept
	} else if x.view.ProductsHash != binary.BigEndian.Uint64(page.Position) {
		x.problem("the catalog of this cursor has been replaced, start again from the first page")
	}
	return string(page.Position[8:])
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// validProductID reports whether id has the form of a public product id: <prefix>_[a-z0-9_]{3,64}.
func (x *exchange) validProductID(id string) bool {
	tail, ok := strings.CutPrefix(id, x.view.Site().ProductPrefix+"_")
	if !ok || len(tail) < 3 || len(tail) > maxTail {
		return false
	}
	for i := range len(tail) {
		if c := tail[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

// productsGet answers GET /v1/products/{product_id}.
func (x *exchange) productsGet() *wire.Fault {
	id, ok := x.pathID()
	if !ok || !x.validProductID(id) {
		x.problem("product_id must have the form " + x.view.Site().ProductPrefix + "_[a-z0-9_]{3,64}")
	}
	if f := x.invalid(); f != nil {
		return f
	}
	product, ok := x.view.Product(id)
	if !ok {
		return &wire.Fault{Code: wire.NotFound, Detail: "No product has this id."}
	}
	x.body = append(x.body, `{"data":`...)
	x.body = append(x.body, product...)
	x.appendMeta(1)
	return nil
}
