package api

import (
	"encoding/binary"
	"slices"

	"ninepocket/wire"
)

// priceSelections handles POST /v1/prices/batch of the preview contract.
func priceSelections(r *Request, out *Reply) *wire.APIError {
	for i := range r.selections {
		r.results = append(r.results, r.View.PriceResult(&r.selections[i]))
	}

	out.SnapshotAt = r.View.Catalog.SnapshotAt
	encodePrices(r, out)
	if r.Service.StoresText {
		out.Stored = binary.BigEndian.AppendUint64(out.Stored, uint64(out.SnapshotAt))
		out.Stored = append(out.Stored, out.Body[len(dataStart):]...)
		return nil
	}
	out.Stored = appendStored(out.Stored, out.SnapshotAt, r.results)
	return nil
}

// restorePrices is priceSelections for a repeated request: its selections are those of the first one,
// and the results are the stored ones.
func restorePrices(r *Request, out *Reply, stored []byte) bool {
	in := storedReader{rest: stored}
	switch in.number() {
	case storedText:
		if len(stored) <= 8 || stored[8] != '[' || in.damaged {
			return false
		}
		out.SnapshotAt = int64(binary.BigEndian.Uint64(stored))
		out.Body = append(append(out.Body, dataStart...), stored[8:]...)
		return true

	case storedPrices:
		out.SnapshotAt = in.prices(r)
		if in.damaged || len(in.rest) > 0 {
			return false
		}
		encodePrices(r, out)
		return true
	}
	return false
}

// dataStart begins the response.
const dataStart = `{"data":`

// encodePrices appends the response with the results of a request.
func encodePrices(r *Request, out *Reply) {
	out.Body = wire.AppendPriceResults(append(out.Body, dataStart...), r.selections, r.results, out.SnapshotAt)
}

// The first number of a stored response says its form. A text follows its time in 8 bytes, whose first
// byte is 0.
const (
	storedText   = 0
	storedPrices = 1
)

// appendStored appends results as numbers: the time of their data, and the reason of each result. A
// price adds its cents, its times as differences to the previous price, and the number of its
// attribution. The text of an attribution follows its first use.
func appendStored(dst []byte, at int64, results []wire.PriceResult) []byte {
	dst = binary.AppendVarint(dst, storedPrices)
	dst = binary.AppendVarint(dst, at)
	last := wire.PriceResult{AsOf: at, CollectedAt: at}
	var attributions []string

	for _, result := range results {
		dst = binary.AppendVarint(dst, int64(result.Missing))
		if result.Missing != wire.HasPrice {
			continue
		}
		dst = binary.AppendVarint(dst, result.Cents)
		dst = binary.AppendVarint(dst, result.AsOf-last.AsOf)
		dst = binary.AppendVarint(dst, result.CollectedAt-last.CollectedAt)
		last = result

		known := slices.Index(attributions, result.Attribution)
		if known >= 0 {
			dst = binary.AppendVarint(dst, int64(known))
			continue
		}
		dst = binary.AppendVarint(dst, int64(len(attributions)))
		dst = binary.AppendVarint(dst, int64(len(result.Attribution)))
		dst = append(dst, result.Attribution...)
		attributions = append(attributions, result.Attribution)
	}
	return dst
}

// storedReader reads what appendStored wrote. After damage its numbers mean nothing.
type storedReader struct {
	rest    []byte
	damaged bool
}

// prices reads the results of a request's selections, and returns the time of their data.
func (in *storedReader) prices(r *Request) int64 {
	at := in.number()
	last := wire.PriceResult{AsOf: at, CollectedAt: at}
	var attributions []string

	for range r.selections {
		missing := in.below(len(wire.MissingReasons))
		if missing > 0 {
			r.results = append(r.results, wire.PriceResult{Missing: wire.MissingReason(missing)})
			continue
		}
		last.Cents = in.number()
		last.AsOf += in.number()
		last.CollectedAt += in.number()

		known := in.below(len(attributions) + 1)
		if known == len(attributions) {
			attributions = append(attributions, in.text())
		}
		last.Attribution = attributions[known]
		r.results = append(r.results, last)
	}
	return at
}

// text reads a text after its length.
func (in *storedReader) text() string {
	size := in.number()
	if size < 0 || size > int64(len(in.rest)) {
		in.damaged = true
		return ""
	}
	text := string(in.rest[:size])
	in.rest = in.rest[size:]
	return text
}

// number reads one number.
func (in *storedReader) number() int64 {
	value, n := binary.Varint(in.rest)
	if n <= 0 {
		in.damaged = true
		in.rest = nil
		return 0
	}
	in.rest = in.rest[n:]
	return value
}

// below reads a number from 0 to limit-1.
func (in *storedReader) below(limit int) int {
	value := in.number()
	if value < 0 || value >= int64(limit) {
		in.damaged = true
		return 0
	}
	return int(value)
}
