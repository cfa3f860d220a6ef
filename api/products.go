package api

import (
	"encoding/binary"
	"strings"

	"ninepocket/engine/cursor"
	"ninepocket/index"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// listProducts handles GET /v1/products.
func listProducts(r *Request, out *Reply) *wire.APIError {
	var filter index.ProductFilter
	if _, given := r.Args.Given("game"); given {
		game, _ := snapshot.GameByPreview(r.oneOf("game", "", previewGames()...))
		filter.Game = game.Slug
	}

	filter.Kind = r.oneOf("kind", "", "card", "sealed")

	partner, ok := r.Args.Given("partner_id")
	if ok && !allDigits(partner) {
		r.problem("partner_id must be digits, such as 42382 (got %s)", QuoteInput(partner))
	}
	filter.Partner = partner
	limit := int(r.intArg("limit", wire.PageLimit, wire.DefaultPageLimit))

	// The preview contract also binds a cursor to the tenant and the limit.
	r.text = filter.AppendKey(r.text[:0])
	bound := cursor.Hash("products", r.Tenant, string(r.text), wire.Decimal(int64(limit)))
	after, f := r.openProductCursor(bound)
	if f != nil {
		return f
	}

	rows, more := r.View.Index.Products().Page(r.cards[:0], filter, after, limit)
	r.cards = rows
	out.SnapshotAt = r.View.Catalog.SnapshotAt
	out.Body = append(out.Body, `{"data":[`...)
	out.Body = r.View.AppendProducts(out.Body, rows)

	out.VaryingFrom = len(out.Body)
	out.Body = append(out.Body, `],"pagination":{"next_cursor":`...)
	if more {
		r.appendProductCursor(out, bound, int(rows[len(rows)-1]))
	} else {
		out.Body = append(out.Body, "null"...)
	}
	out.Body = append(out.Body, '}')
	return nil
}

// previewGames returns the values of the preview contract's parameter game.
func previewGames() []string {
	var names []string
	for _, game := range snapshot.Games {
		names = append(names, game.Preview)
	}
	return names
}

// appendProductCursor appends the cursor after the product of a row. Its position is the hash of
// the catalog's products, so that pagination may go on in another snapshot with the same products,
// and the product's tail.
func (r *Request) appendProductCursor(out *Reply, bound uint64, row int) {
	item := r.View.Index.Products().Items()[row]
	position := binary.BigEndian.AppendUint64(r.text[:0], r.View.ProductsHash)
	position = append(position, index.ProductTail(r.View.Catalog, int(item))...)
	r.text = position

	page := cursor.Page{Op: cursor.Products, Snapshot: r.View.Hash, Position: position}
	out.Body = append(out.Body, '"')
	out.Body = r.Service.Cursors.Append(out.Body, page, bound, r.Now)
	out.Body = append(out.Body, '"')
}

// pendingView is the error for a cursor that another server issued a moment ago (decision 2308).
const pendingView = "the catalog of this cursor is on its way to this server: send the same request again in a second"

// openProductCursor reads the cursor and sets the request's View to the catalog of the first page.
// That is its View while it is retained, otherwise the current one if its products are the same
// (decision 29). It returns the last tail shown, or the error of the request.
func (r *Request) openProductCursor(bound uint64) (after string, f *wire.APIError) {
	token, page, ok := r.readCursor(cursor.Products, bound, wire.PreviewCursorText)
	if !ok {
		return "", r.invalid()
	}
	if len(page.Position) <= 8 {
		r.badCursor(token, cursor.ErrMalformed)
		return "", r.invalid()
	}

	// Pagination must not mix two catalogs, but a release may leave all products unchanged.
	switch view := r.Service.Retained(page.Snapshot); {
	case view != nil:
		r.View = view
	case r.View.ProductsHash == binary.BigEndian.Uint64(page.Position):
	case r.Service.IsPending(page.Snapshot, page.Issued):
		return "", &wire.APIError{Code: wire.TemporarilyUnavailable, Detail: pendingView, RetryAfter: 1}
	default:
		r.problem("the catalog of this cursor has been replaced: leave it out to start again from the first page")
	}
	return string(page.Position[8:]), r.invalid()
}

func allDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// validProductID reports whether id is a public product id: <prefix>_[a-z0-9_]{3,64}.
func (r *Request) validProductID(id string) bool {
	tail := r.View.ProductTail(id)
	for i := range len(tail) {
		if !inProductIDs[tail[i]] {
			return false
		}
	}
	return wire.ProductTail.Has(int64(len(tail)))
}

// inProductIDs are the characters of a product id's tail.
var inProductIDs = func() (all [256]bool) {
	for _, char := range []byte("abcdefghijklmnopqrstuvwxyz0123456789_") {
		all[char] = true
	}
	return all
}()

// badProductID explains what is wrong with a product id, wherever it was sent.
func (r *Request) badProductID(id string) string {
	return " must be " + r.View.Site().ProductPrefix + "_ and 3 to 64 of a-z, 0-9, _ (got " + QuoteInput(id) +
		"): find it with GET /v1/products"
}

// getProduct handles GET /v1/products/{product_id}.
func getProduct(r *Request, out *Reply) *wire.APIError {
	id, ok := r.PathID()
	if !ok || !r.validProductID(id) {
		r.problem("the product_id in the path%s", r.badProductID(r.shownID()))
	}
	if f := r.invalid(); f != nil {
		return f
	}

	body, ok := r.View.AppendProduct(append(out.Body, `{"data":`...), id)
	if !ok {
		return refuse(wire.NotFound, "no product has the id %s: GET /v1/products lists them", id)
	}
	out.SnapshotAt = r.View.Catalog.SnapshotAt
	out.Body = body
	return nil
}
