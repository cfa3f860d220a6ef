// Command conformance does one job of the table of faults, and prints its rows as JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"time"

	ninepocket "ninepocket/clients/go"
)

// order is a job.
type order struct {
	Job         string                      `json:"job"`
	BaseURL     string                      `json:"base_url"`
	Key         string                      `json:"key"`
	JobID       string                      `json:"job_id"`
	Deadline    float64                     `json:"deadline_seconds"`
	TryTimeout  float64                     `json:"try_timeout_seconds"`
	MaxTries    int                         `json:"max_tries"`
	Path        string                      `json:"path"`
	IDs         []string                    `json:"ids"`
	Identifiers []string                    `json:"identifiers"`
	Selections  []ninepocket.PriceSelection `json:"selections"`
	Items       []ninepocket.ValuationItem  `json:"items"`
	Pause       float64                     `json:"pause"`
}

// outcome is the result of a job.
type outcome struct {
	Rows     []string `json:"rows"`
	NotFound []string `json:"not_found"`
	Error    *failure `json:"error"`
}

type failure struct {
	Kind      string `json:"kind"`
	Status    int    `json:"status"`
	Code      string `json:"code"`
	RequestID string `json:"request_id"`
	Message   string `json:"message"`
}

func main() {
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := outcome{Rows: []string{}, NotFound: []string{}}
	if err := out.run(context.Background(), &o); err != nil {
		out.Error = describe(err)
	}
	_ = json.NewEncoder(os.Stdout).Encode(out)
}

func describe(err error) *failure {
	var refused *ninepocket.Error
	if errors.As(err, &refused) {
		return &failure{"refused", refused.Status, refused.Code, refused.RequestID, err.Error()}
	}
	return &failure{Kind: "unreachable", Message: err.Error()}
}

func (out *outcome) add(parts ...any) {
	out.Rows = append(out.Rows, fmt.Sprint(parts...))
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

func (out *outcome) run(ctx context.Context, o *order) error {
	c := ninepocket.New(o.BaseURL, o.Key, ninepocket.Options{
		Deadline: seconds(o.Deadline), TryTimeout: seconds(o.TryTimeout), MaxTries: o.MaxTries,
	})
	batch := ninepocket.Batch{IDs: o.IDs, Identifiers: o.Identifiers}

	switch o.Job {
	case "walk":
		p := ninepocket.CardsSearchParams{Game: "pokemon", Sort: "name"}
		return each(out, o, c.Cards(ctx, p), func(card ninepocket.CardSummary) string { return card.ID })
	case "sets":
		all := c.Sets(ctx, ninepocket.SetsListParams{})
		return each(out, o, all, func(set ninepocket.SetSummary) string { return set.ID })
	case "products":
		all := c.Products(ctx, ninepocket.ProductsListParams{})
		return each(out, o, all, func(product ninepocket.Product) string { return product.ID })
	case "card":
		for range 2 {
			card, err := c.Card(ctx, o.IDs[0], ninepocket.CardsGetParams{})
			if err != nil {
				return err
			}
			out.add(card.ID, " ", firstPrice(card))
		}
	case "cards":
		found, err := c.CardsBatch(ctx, batch)
		for _, card := range found.Data {
			out.add(card.ID, " ", len(card.Prices))
		}
		out.NotFound = append(out.NotFound, found.NotFound...)
		return err
	case "prices":
		found, err := c.PriceRows(ctx, batch)
		for _, row := range found.Data {
			out.add(row.ID, " ", cents(row.MarketPriceCents, ""))
		}
		out.NotFound = append(out.NotFound, found.NotFound...)
		return err
	case "histories":
		batch.Days = 7
		found, err := c.HistoriesBatch(ctx, batch)
		for _, card := range found.Data {
			out.add(card.ID, " ", len(card.Lanes))
		}
		out.NotFound = append(out.NotFound, found.NotFound...)
		return err
	case "value":
		valued, err := c.Value(ctx, o.Items)
		for _, item := range valued.Items {
			out.add(item.Index, " ", item.Status, " ", cents(item.TotalCents, "null"))
		}
		return err
	case "partner":
		results, err := c.PreviewPrices(ctx, o.JobID, o.Selections)
		for _, result := range results {
			price := "null"
			if result.Price != nil {
				price = fmt.Sprint(result.Price.AmountCents)
			}
			out.add(result.Selection.ProductID, " ", result.Status, " ", price)
		}
		return err
	case "movers":
		movers, err := c.Movers(ctx, ninepocket.MarketMoversParams{Direction: "up"})
		if err != nil {
			return err
		}
		for _, mover := range movers.Data {
			out.add(mover.ID)
		}
	case "mirror":
		mirror, err := ninepocket.OpenMirror(c, o.Path)
		if err == nil {
			err = mirror.Sync(ctx)
		}
		if err != nil {
			return err
		}
		for card := range mirror.Cards() {
			sum := int64(0)
			for _, lane := range card.Prices {
				sum += lane.MarketPriceCents
			}
			out.add(card.ID, " ", len(card.Prices), " ", sum)
		}
	default:
		return fmt.Errorf("no job is called %q", o.Job)
	}
	return nil
}

// each adds a row for each entry of a pagination, with the requested pause.
func each[T any](out *outcome, o *order, all iter.Seq2[T, error], id func(T) string) error {
	for entry, err := range all {
		if err != nil {
			return err
		}
		out.add(id(entry))
		if len(out.Rows) == 60 {
			time.Sleep(seconds(o.Pause))
		}
	}
	return nil
}

func firstPrice(card *ninepocket.CardDetail) string {
	if len(card.Prices) == 0 {
		return "null"
	}
	return fmt.Sprint(card.Prices[0].MarketPriceCents)
}

func cents(price *int64, none string) string {
	if price == nil {
		return none
	}
	return fmt.Sprint(*price)
}
