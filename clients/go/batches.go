package ninepocket

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Batch is a request for a live batch: any number of ids and slugs, identifiers of other
// catalogs (NAMESPACE:VALUE), or both.
type Batch struct {
	IDs, Identifiers []string
	Fields           string // of cards and prices: the wanted members, separated by commas; all when empty
	Days             int64  // of histories; the API's 90 when 0
	Variant          string // of histories: one variant; all when empty
	Chunk            int    // entries of a request, for plans that allow fewer than the API
}

// The API's bounds of one request.
const (
	maxPriceRows  = 100
	maxItems      = 500 // half of the limit, so that long rows are within the 256 KiB of a body
	maxSelections = 50
)

// joined sends a batch in parts and merges their results.
func joined[T any](ctx context.Context, c *Client, r call, b Batch, bound int, add func(all, got *T)) (*T, error) {
	all := new(T)
	bodies, err := c.chunks(ctx, r, b, bound)
	for _, body := range bodies {
		var got T
		if err := decode(r, body, &got); err != nil {
			return all, err
		}
		add(all, &got)
	}
	return all, err
}

// PriceRows returns the rows of PricesBatch without the refs, as CSV: an eighth of the bytes, and far
// less work to read them.
func (c *Client) PriceRows(ctx context.Context, b Batch) (*PriceBatch, error) {
	b.Fields = ""
	all := &PriceBatch{}
	r := call{operation: "prices_batch", path: "/v1/prices/batch", header: map[string]string{"Accept": "text/csv"}}
	bodies, err := c.chunks(ctx, r, b, maxPriceRows)

	for _, body := range bodies {
		records, failed := csv.NewReader(bytes.NewReader(body)).ReadAll()
		if failed != nil || len(records[0]) != 4 {
			return all, &UnreachableError{r.operation, 1, fmt.Errorf("the response is no CSV of prices: %w", failed)}
		}
		for _, record := range records[1:] {
			if record[3] == "not_found" {
				all.NotFound = append(all.NotFound, record[0])
				continue
			}
			row := PriceEntry{ID: record[0], Currency: "USD", PriceUpdatedAt: record[2]}
			// An empty field is a card without a price.
			if cents, failed := strconv.ParseInt(record[1], 10, 64); failed == nil {
				row.MarketPriceCents = &cents
			}
			all.Data = append(all.Data, row)
		}
	}
	return all, err
}

// chunks sends a batch in parts of a size that the API accepts, all for the snapshot of the first, and
// returns the responses. If that snapshot is gone, the batch starts again without a fixed snapshot.
func (c *Client) chunks(ctx context.Context, r call, b Batch, bound int) (bodies [][]byte, err error) {
	if b.Chunk > 0 {
		bound = min(bound, b.Chunk)
	}
	if b.Fields != "" {
		r.query = url.Values{"fields": {b.Fields}}
	}
	ids := distinct(b.IDs)
	identifiers := distinct(b.Identifiers)
	isPinned := c.snapshot == ""
	pinned := c.At(c.snapshot)
	for at := 0; at < len(ids)+len(identifiers); at += bound {
		some := identifiers[max(at-len(ids), 0):min(max(at+bound-len(ids), 0), len(identifiers))]
		// Operations without days and a variant do not get any.
		body := HistoryBatchRequest{
			IDs: ids[min(at, len(ids)):min(at+bound, len(ids))], Identifiers: some, Days: b.Days, Variant: b.Variant,
		}
		r.body, _ = json.Marshal(body) // strings and numbers
		got, err := pinned.do(ctx, r)
		if isPinned && at > 0 && hasStatus(err, http.StatusPreconditionFailed) {
			isPinned = false
			pinned.snapshot = ""
			bodies = nil
			at = -bound
			continue
		}
		if err != nil {
			return bodies, err
		}

		bodies = append(bodies, got.body)
		if isPinned {
			pinned.snapshot = got.header.Get("X-Snapshot-Id")
		}
	}
	return bodies, nil
}

// distinct returns each entry once, in order.
func distinct[T comparable](all []T) []T {
	seen := map[T]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool {
		isSeen := seen[one]
		seen[one] = true
		return isSeen
	})
}

// Value returns the worth of a list of cards. Lists of any length are sent in parts.
func (c *Client) Value(ctx context.Context, items []ValuationItem) (*Valuation, error) {
	var parts [][]byte
	for some := range slices.Chunk(items, maxItems) {
		body, err := json.Marshal(ValuationRequest{Items: some})
		if err != nil {
			return nil, err
		}
		parts = append(parts, body)
	}
	return c.value(ctx, "application/json", parts)
}

// ValueCSV returns the worth of a collection in a table: the export of an app, or your own table
// with a header row. Tables of any length are sent in parts.
func (c *Client) ValueCSV(ctx context.Context, table []byte) (*Valuation, error) {
	rows := records(strings.TrimPrefix(string(table), "\ufeff"))
	heads := 1
	if len(rows) > 0 && strings.HasPrefix(rows[0], "sep=") {
		heads = 2
	}
	if len(rows) <= heads {
		return nil, errors.New("the table has no rows: its first row is the header")
	}

	var parts [][]byte
	for some := range slices.Chunk(rows[heads:], maxItems) {
		parts = append(parts, []byte(strings.Join(rows[:heads], "")+strings.Join(some, "")))
	}
	return c.value(ctx, "text/csv", parts)
}

// records cuts a table into its records, which end at line ends that are not quoted. Empty lines are
// left out.
func records(table string) (all []string) {
	row := ""
	for part := range strings.SplitAfterSeq(table+"\n", "\n") {
		row += part
		if strings.Count(row, `"`)%2 == 1 {
			continue
		}
		if strings.TrimSpace(row) != "" {
			all = append(all, strings.TrimRight(row, "\r\n")+"\r\n")
		}
		row = ""
	}
	return all
}

// value sends the parts of a list, and adds up their worth.
func (c *Client) value(ctx context.Context, media string, parts [][]byte) (*Valuation, error) {
	all := &Valuation{}
	for _, body := range parts {
		var got Valuation
		err := c.get(ctx, call{operation: "valuations_create", path: "/v1/valuations", body: body, media: media}, &got)
		if err != nil {
			return all, err
		}

		offset := int64(len(all.Items))
		for i := range got.Items {
			got.Items[i].Index += offset
		}
		got.Totals.add(&all.Totals)
		got.Items = append(all.Items, got.Items...)
		all = &got
	}
	return all, nil
}

// PreviewPrices prices selections of the preview contract, in the given order, 50 a request and a
// credit. The job id prevents a second charge. If a job is repeated within ten minutes with equal
// selections, even by another process, it gets the first responses again. After an error, the results
// before the error are returned, and the others have an empty status.
func (c *Client) PreviewPrices(ctx context.Context, job string, selections []PriceSelection) ([]PriceResult, error) {
	if job == "" {
		return nil, errors.New("the job has no id: give one that is the same when the job is repeated, such as its day")
	}
	results := map[PriceSelection]PriceResult{}
	var failure error
	for items := range slices.Chunk(distinct(selections), maxSelections) {
		body, _ := json.Marshal(PreviewPriceBatchRequest{Items: items}) // strings
		var got PreviewPriceBatch
		failure = c.get(ctx, call{
			operation: "prices_batch", path: "/v1/prices/batch", body: body,
			header: map[string]string{"Idempotency-Key": idempotencyKey(job, items)},
		}, &got)
		if failure != nil {
			break
		}
		for i, result := range got.Data {
			results[items[i]] = result
		}
	}

	all := make([]PriceResult, len(selections))
	for i, selection := range selections {
		all[i] = results[selection]
	}
	return all, failure
}

// idempotencyKey names a part of a job: equal in each client of the API.
func idempotencyKey(job string, items []PriceSelection) string {
	text := []byte(job + "\n")
	for _, s := range items {
		text = fmt.Appendf(text, "%s\t%s\t%s\t%s\n", s.Kind, s.ProductID, s.Variant, s.Condition)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))
}
