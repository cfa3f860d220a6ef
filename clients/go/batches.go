package ninepocket

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Batch is what a live batch is asked for: any number of ids and slugs, identifiers of other
// catalogs (NAMESPACE:VALUE), or both.
type Batch struct {
	IDs, Identifiers []string
	Fields           string // of cards and prices, members that are wanted, divided by commas; all when empty
	Days             int64  // of histories; the API's 90 when 0
	Variant          string // of histories, one alone; all when empty
	Chunk            int    // entries of a request, for plans that allow fewer than the API
	Snapshot         string // the snapshot to answer from; that of the first answer when empty
}

// The API's bounds of one request.
const (
	maxPriceRows  = 100
	maxItems      = 500 // half of it, so that long rows are not more than the 256 KiB of a body
	maxSelections = 50
)

// joined asks for a batch in parts and adds each to what there is.
func joined[T any](
	ctx context.Context, c *Client, r call, b Batch, bound int, add func(all, got *T),
) (*T, error) {
	all := new(T)
	return all, c.chunks(ctx, r, b, bound, func(text []byte) error {
		var got T
		err := decode(r, text, &got)
		add(all, &got)
		return err
	}, func() { *all = *new(T) })
}

// PriceRow is a display price, read from a row of CSV.
type PriceRow struct {
	ID               string // the card's
	MarketPriceCents *int64
	PriceUpdatedAt   string
}

// PriceRows returns what PricesBatch does, from rows of CSV: an eighth of the bytes, and far less work
// to read them.
func (c *Client) PriceRows(ctx context.Context, b Batch) (rows []PriceRow, notFound []string, err error) {
	b.Fields = ""
	r := call{operation: "prices_batch", path: "/v1/prices/batch", header: map[string]string{"Accept": "text/csv"}}
	err = c.chunks(ctx, r, b, maxPriceRows, func(body []byte) error {
		records, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
		if err != nil || len(records) == 0 || len(records[0]) < 4 {
			return &UnreachableError{r.operation, 1, fmt.Errorf("the answer is not the CSV of prices: %w", err)}
		}
		for _, record := range records[1:] {
			if record[3] == "not_found" {
				notFound = append(notFound, record[0])
				continue
			}
			row := PriceRow{ID: record[0], PriceUpdatedAt: record[2]}
			// An empty field is a card without a price.
			if cents, err := strconv.ParseInt(record[1], 10, 64); err == nil {
				row.MarketPriceCents = &cents
			}
			rows = append(rows, row)
		}
		return nil
	}, func() { rows, notFound = nil, nil }) // air: both are the answer
	return rows, notFound, err
}

// chunks asks for a batch in parts that the API takes, all from the snapshot of the first. When that
// is gone the batch begins again, then without it.
func (c *Client) chunks(
	ctx context.Context, r call, b Batch, bound int, add func([]byte) error, reset func(),
) error {
	if b.Chunk > 0 {
		bound = min(bound, b.Chunk)
	}
	if b.Fields != "" {
		r.query = url.Values{"fields": {b.Fields}}
	}
	ids, identifiers := distinct(b.IDs), distinct(b.Identifiers)
	if r.header == nil {
		r.header = map[string]string{}
	}
	isPinned := b.Snapshot == ""
	if !isPinned {
		r.header["X-Snapshot-Id"] = b.Snapshot
	}

	for at := 0; at < len(ids)+len(identifiers); at += bound {
		from, to := min(at, len(ids)), min(at+bound, len(ids))
		some := identifiers[max(at-len(ids), 0):min(max(at+bound-len(ids), 0), len(identifiers))]
		// Operations without days and a variant do not get any.
		body := HistoryBatchRequest{IDs: ids[from:to], Identifiers: some, Days: b.Days, Variant: b.Variant}
		r.body, _ = json.Marshal(body) // strings and numbers
		got, err := c.do(ctx, r)
		if isPinned && at > 0 && hasStatus(err, http.StatusPreconditionFailed) {
			isPinned = false
			delete(r.header, "X-Snapshot-Id")
			reset()
			at = -bound
			continue
		}
		if err != nil {
			return err
		}

		if snapshot := got.header.Get("X-Snapshot-Id"); isPinned && snapshot != "" {
			r.header["X-Snapshot-Id"] = snapshot
		}
		if err := add(got.body); err != nil {
			return err
		}
	}
	return nil
}

// distinct returns each string once, in order.
func distinct(all []string) []string {
	seen := make(map[string]bool, len(all))
	once := make([]string, 0, len(all))
	for _, one := range all {
		if !seen[one] {
			seen[one] = true
			once = append(once, one)
		}
	}
	return once
}

// Value says what a list of cards is worth. Lists of any length are asked for in parts.
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

// ValueCSV says what a collection is worth that stands in a table: the export of an app, or an own
// one with a header row. Tables of any length are asked for in parts.
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
	isQuoted := false
	from := 0
	for i := 0; i <= len(table); i++ {
		if i < len(table) && table[i] == '"' {
			isQuoted = !isQuoted
		}
		if i < len(table) && (table[i] != '\n' || isQuoted) {
			continue
		}
		if row := strings.TrimRight(table[from:i], "\r"); strings.TrimSpace(row) != "" {
			all = append(all, row+"\r\n")
		}
		from = i + 1
	}
	return all
}

// value asks for the parts of a list, and adds up what they are worth.
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
		sum := all.Totals
		t := &got.Totals
		t.ExactCents += sum.ExactCents
		t.AssumedCents += sum.AssumedCents
		t.Quantity += sum.Quantity
		t.Priced += sum.Priced
		t.Unpriced += sum.Unpriced
		t.Ambiguous += sum.Ambiguous
		t.Unmatched += sum.Unmatched
		got.Items = append(all.Items, got.Items...)
		all = &got
	}
	return all, nil
}

// PreviewPrices prices selections of the preview contract, in the order asked for, 50 a request and a
// credit. The job id makes that a job is never charged twice: repeated within ten minutes with the
// same selections, be it by another process, it gets the first answers again. With an error the
// results are those that were had before it; the others have an empty status.
func (c *Client) PreviewPrices(ctx context.Context, job string, selections []PriceSelection) ([]PriceResult, error) {
	if job == "" {
		return nil, errors.New("the job has no id: give one that is the same when the job is repeated, such as its day")
	}
	var once []PriceSelection
	place := map[PriceSelection]int{}
	for _, selection := range selections {
		if _, seen := place[selection]; !seen {
			place[selection] = len(once)
			once = append(once, selection)
		}
	}

	results := make([]PriceResult, len(once))
	var failure error
	for at := 0; at < len(once) && failure == nil; at += maxSelections {
		items := once[at:min(at+maxSelections, len(once))]
		body, _ := json.Marshal(PreviewPriceBatchRequest{Items: items}) // strings
		var got PreviewPriceBatch
		failure = c.get(ctx, call{
			operation: "prices_batch", path: "/v1/prices/batch", body: body,
			header: map[string]string{"Idempotency-Key": idempotencyKey(job, items)},
		}, &got)
		copy(results[at:], got.Data)
	}

	all := make([]PriceResult, len(selections))
	for i, selection := range selections {
		all[i] = results[place[selection]]
	}
	return all, failure
}

// idempotencyKey names a part of a job: the same in each client of the API.
func idempotencyKey(job string, items []PriceSelection) string {
	text := job + "\n"
	for _, s := range items {
		text += s.Kind + "\t" + s.ProductID + "\t" + s.Variant + "\t" + s.Condition + "\n"
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
