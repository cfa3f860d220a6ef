//go:build generated

package goclient

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"ninepocket/tools/goclient/generated/live"
	"ninepocket/tools/goclient/generated/preview"
	"ninepocket/tools/goclient/generated/small"
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

// keyed is a transport that adds a key.
type keyed string

func (k keyed) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("X-API-Key", string(k))
	return http.DefaultClient.Do(r)
}

// TestEveryOperation calls every operation of each document with the client made from it.
func TestEveryOperation(t *testing.T) {
	server := serve(t)
	pro := keyed(server.Keys["pro"])
	partner := keyed(server.Keys["preview"])
	all, err := live.NewClientWithResponses(server.API, live.WithHTTPClient(pro))
	if err != nil {
		t.Fatal(err)
	}
	little, err := small.NewClientWithResponses(server.API, small.WithHTTPClient(pro))
	if err != nil {
		t.Fatal(err)
	}
	typed, err := preview.NewClientWithResponses(server.API, preview.WithHTTPClient(partner))
	if err != nil {
		t.Fatal(err)
	}

	c := caller{server: server}
	c.callAll(t, all, "live", pro)
	c.callAll(t, little, "live", pro)
	c.callAll(t, typed, "preview", partner)
}

// TestPricesBatch makes the body of a batch with generated code alone, on both surfaces, and reads a
// price from the response.
func TestPricesBatch(t *testing.T) {
	server := serve(t)
	all, err := live.NewClientWithResponses(server.API, live.WithHTTPClient(keyed(server.Keys["pro"])))
	if err != nil {
		t.Fatal(err)
	}
	found, err := all.CardsSearchWithResponse(t.Context(), &live.CardsSearchParams{})
	if err != nil || found.JSON200 == nil || len(found.JSON200.Data) == 0 {
		t.Fatalf("no card is found: %v", err)
	}
	id := found.JSON200.Data[0].Id

	one, err := all.PricesBatchWithResponse(t.Context(), nil, live.PriceBatchRequest{Ids: &[]string{id}})
	if err != nil || one.JSON200 == nil {
		t.Fatalf("a live batch: %v, %s", err, one.Body)
	}
	prices := one.JSON200.Data
	if len(prices) != 1 || prices[0].Id != id || prices[0].Currency != "USD" || prices[0].MarketPriceCents == nil {
		t.Errorf("a live batch has %+v", prices)
	}

	typed, err := preview.NewClientWithResponses(server.API, preview.WithHTTPClient(keyed(server.Keys["preview"])))
	if err != nil {
		t.Fatal(err)
	}
	products, err := typed.ProductsListWithResponse(t.Context(), &preview.ProductsListParams{})
	if err != nil || products.JSON200 == nil || len(products.JSON200.Data) == 0 {
		t.Fatalf("no product is found: %v, %s", err, products.Body)
	}
	product, err := products.JSON200.Data[0].AsCardProduct()
	if err != nil {
		t.Fatal(err)
	}

	var wanted preview.PriceSelection
	if err := wanted.FromCardSelection(preview.CardSelection{
		Kind: "card", ProductId: product.Id, Variant: product.PriceOptions[0].Variant, Condition: "near_mint",
	}); err != nil {
		t.Fatal(err)
	}
	params := &preview.PricesBatchParams{IdempotencyKey: "a-key-of-a-test"}
	answer, err := typed.PricesBatchWithResponse(t.Context(), params,
		preview.PreviewPriceBatchRequest{Items: []preview.PriceSelection{wanted}})
	if err != nil || answer.JSON200 == nil || len(answer.JSON200.Data) != 1 || answer.JSON200.Meta.BillableUnits != 1 {
		t.Fatalf("a preview batch: %v, %s", err, answer.Body)
	}
	price, err := answer.JSON200.Data[0].AsUndatedPriceResult()
	if err != nil || price.Price.AmountCents == 0 {
		t.Errorf("a preview batch has no price: %s, %v", answer.Body, err)
	}
}
