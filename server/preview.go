package server

import (
	"errors"

	"ninepocket/access"
	"ninepocket/wire"
)

// previewSurface is the preview contract.
var previewSurface = surface{
	meanings:  wire.Preview,
	errorType: "application/json",
	challenge: `ApiKey realm="ninepocket"`,
	strict:    true,
	cacheable: "private, no-store",
	append: func(dst []byte, _ string, f wire.Fault, requestID string) []byte {
		return wire.AppendEnvelope(dst, f, requestID)
	},
	kind:      access.Preview,
	wrongKind: wire.Fault{Code: wire.InsufficientScope, Detail: "A live key does not open the preview contract: use a preview key."},
	noKey: func(err error) wire.Fault {
		if errors.Is(err, access.ErrUnavailable) {
			return wire.Fault{Code: wire.TemporarilyUnavailable, Detail: "Keys cannot be checked at the moment.", RetryAfter: retryUnavailable}
		}
		f := wire.Fault{Code: wire.InvalidAPIKey, Detail: "The API key is not valid: send a preview key as X-API-Key."}
		switch {
		case errors.Is(err, access.ErrNoKey):
			f.Detail = "Send a preview key as X-API-Key."
		case errors.Is(err, access.ErrRevoked):
			f.Detail = "The API key was revoked."
		case errors.Is(err, access.ErrExpired):
			f.Detail = "The API key has expired."
		}
		return f
	},
	addLimits: (*exchange).addCredits,
}

// addCredits adds the credit headers of the preview contract, on success and error alike; what remains is told only
// to who authenticated.
func (x *exchange) addCredits() {
	x.head.setInt("X-Request-Credits-Charged", x.receipt.Charged)
	if x.principal == nil {
		return
	}
	left := x.decision.Allowance
	switch {
	case x.charged:
		left = x.receipt.Allowance
	case left.Limit == 0:
		// Refused before admission: nothing was asked of the meter yet.
		if u, err := x.s.Gate.Usage(x.principal, x.now); err == nil {
			left.Remaining = u.Remaining
		}
	}
	x.head.setInt("X-Request-Credits-Remaining", left.Remaining)
}

// withPreview adds the preview contract's operations to the route table, unless it is switched off (decision 1).
func (s *Server) withPreview(table []*path) []*path {
	if !s.Preview {
		return table
	}
	shared := map[string]*operation{
		"/v1/prices/batch": {name: access.PricesBatch, scope: access.PricesRead, run: (*exchange).priceSelections},
		"/v1/usage":        {name: access.UsageGet, scope: access.UsageRead, run: (*exchange).credits},
	}
	for _, p := range table {
		p.preview = shared[p.pattern]
	}
	return append(table,
		&path{pattern: "/v1/products", method: "GET", preview: &operation{
			name: access.ProductsList, scope: access.CatalogRead, run: (*exchange).productsList,
			params: []string{"limit", "cursor", "game", "kind", "partner_id"},
		}},
		&path{pattern: "/v1/products/{id}", method: "GET", preview: &operation{
			name: access.ProductsGet, scope: access.CatalogRead, run: (*exchange).productsGet,
		}},
	)
}

// appendMeta closes a preview success: what was charged is known only once the operation is done, and a preview
// success other than a replay always costs one unit, usage none.
func (x *exchange) appendMeta(units int) {
	if x.varying == 0 {
		x.varying = len(x.body)
	}
	x.body = append(x.body, `,"meta":`...)
	x.body = wire.AppendMeta(x.body, wire.Meta{RequestID: string(x.id), SnapshotAt: x.view.Catalog.SnapshotAt, Units: units})
	x.body = append(x.body, '}')
}

// credits answers GET /v1/usage of the preview contract.
func (x *exchange) credits() *wire.Fault { return x.usage() }
