//go:build generated

package goclient

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/tools/goclient/generated/live"
	"ninepocket/tools/goclient/generated/preview"
)

// ready is the content of a server's ready file.
type ready struct {
	API  string
	Keys map[string]string
}

// serve starts a server of the demo catalog, the program NINEPOCKET.
func serve(t *testing.T) ready {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ready.json")
	server := exec.Command(os.Getenv("NINEPOCKET"), "demo", "--cards", "300", "--listen", "127.0.0.1:0",
		"--admin", "127.0.0.1:0", "--ready-file", file)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill() // there is nothing to finish
		_ = server.Wait()
	})

	var said ready
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &said)
		}
		if err == nil {
			return said
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server does not begin: %v", err)
		}
	}
}

// keyed returns a request editor that adds a key.
func keyed(key string) func(context.Context, *http.Request) error {
	return func(_ context.Context, r *http.Request) error {
		r.Header.Set("X-API-Key", key)
		return nil
	}
}

// TestPricesBatch makes the body of a batch with generated code alone, on both surfaces and with
// both documents, and reads a price from the response.
func TestPricesBatch(t *testing.T) {
	server := serve(t)
	both, err := preview.NewClientWithResponses(server.API)
	if err != nil {
		t.Fatal(err)
	}
	pro := keyed(server.Keys["pro"])

	found, err := both.CardsSearchWithResponse(t.Context(), &preview.CardsSearchParams{}, preview.RequestEditorFn(pro))
	if err != nil || found.JSON200 == nil || len(found.JSON200.Data) == 0 {
		t.Fatalf("no card is found: %v", err)
	}
	id := string(found.JSON200.Data[0].Id)

	var body preview.PricesBatchJSONRequestBody
	if err := body.FromPriceBatchRequest(preview.PriceBatchRequest{Ids: &[]string{id}}); err != nil {
		t.Fatal(err)
	}
	answer, err := both.PricesBatchWithResponse(t.Context(), &preview.PricesBatchParams{}, body,
		preview.RequestEditorFn(pro))
	if err != nil || answer.JSON200 == nil {
		t.Fatalf("a live batch: %v, %s", err, answer.Body)
	}
	prices, err := answer.JSON200.AsPriceBatch()
	if err != nil || len(prices.Data) != 1 || string(prices.Data[0].Id) != id || prices.Data[0].Currency != "USD" {
		t.Errorf("a live batch has %+v, %v", prices, err)
	}

	partner := keyed(server.Keys["preview"])
	products, err := both.ProductsListWithResponse(t.Context(), &preview.ProductsListParams{},
		preview.RequestEditorFn(partner))
	if err != nil || products.JSON200 == nil || len(products.JSON200.Data) == 0 {
		t.Fatalf("no product is found: %v, %s", err, products.Body)
	}
	product, err := products.JSON200.Data[0].AsCardProduct()
	if err != nil {
		t.Fatal(err)
	}
	var wanted preview.PriceSelection
	selection := preview.CardSelection{
		Kind: "card", ProductId: product.Id, Variant: product.PriceOptions[0].Variant, Condition: "near_mint",
	}
	if err := wanted.FromCardSelection(selection); err != nil {
		t.Fatal(err)
	}
	if err := body.FromPreviewPriceBatchRequest(preview.PreviewPriceBatchRequest{
		Items: []preview.PriceSelection{wanted},
	}); err != nil {
		t.Fatal(err)
	}
	key := "a-key-of-a-test"
	answer, err = both.PricesBatchWithResponse(t.Context(), &preview.PricesBatchParams{IdempotencyKey: &key}, body,
		preview.RequestEditorFn(partner))
	if err != nil || answer.JSON200 == nil {
		t.Fatalf("a preview batch: %v, %s", err, answer.Body)
	}
	results, err := answer.JSON200.AsPreviewPriceBatch()
	if err != nil || len(results.Data) != 1 || results.Meta.BillableUnits != 1 {
		t.Fatalf("a preview batch has %+v, %v", results, err)
	}
	price, err := results.Data[0].AsUndatedPriceResult()
	if err != nil || price.Price.AmountCents == 0 {
		t.Errorf("a preview batch has no price: %s, %v", answer.Body, err)
	}

	// The document of a server without preview has no oneOf here.
	alone, err := live.NewClientWithResponses(server.API)
	if err != nil {
		t.Fatal(err)
	}
	one, err := alone.PricesBatchWithResponse(t.Context(), live.PricesBatchJSONRequestBody{Ids: &[]string{id}},
		live.RequestEditorFn(pro))
	if err != nil || one.JSON200 == nil || len(one.JSON200.Data) != 1 || one.JSON200.Data[0].MarketPriceCents == nil {
		t.Errorf("a batch of the live document: %v, %s", err, one.Body)
	}
}
