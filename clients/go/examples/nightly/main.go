// Command nightly writes a partner's nightly prices: every card product in each lane, into a CSV. If
// it is run again, it resumes.
//
// Each part is stored before the next is requested, and the job id makes a part that was charged but
// not stored a replay. So nothing is charged twice, however often it is interrupted within ten
// minutes.
package main

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	ninepocket "ninepocket/clients/go"
)

func main() {
	client := ninepocket.New(os.Getenv("API"), os.Getenv("KEY"), ninepocket.Options{})
	target := os.Args[1]

	// "fresh" is judged at the instant of the snapshot. A feed that stopped is seen by our own clock alone.
	usage, err := client.Usage(context.Background())
	check(err)
	at, err := time.Parse(time.RFC3339, usage.Meta.SnapshotAt)
	check(err)
	if time.Since(at) > 36*time.Hour {
		log.Fatalf("the newest prices are of %s: nothing is priced by them", usage.Meta.SnapshotAt)
	}

	job := "nightly-" + time.Now().UTC().Format(time.DateOnly)
	if len(os.Args) > 2 {
		job = os.Args[2]
	}
	parts := strings.TrimSuffix(target, filepath.Ext(target)) + "." + job
	check(os.MkdirAll(parts, 0o700))

	// The list is stored, too: the parts of a resumed job must be those of the first run.
	var selections []ninepocket.PriceSelection
	wanted := filepath.Join(parts, "selections.json")
	if !load(wanted, &selections) {
		selections = lanes(client)
		store(wanted, selections)
	}

	var prices []ninepocket.PriceResult
	for start := 0; start < len(selections); start += 50 {
		var results []ninepocket.PriceResult
		part := filepath.Join(parts, fmt.Sprintf("%08d.json", start))
		if !load(part, &results) {
			some := selections[start:min(start+50, len(selections))]
			results, err = client.PreviewPrices(context.Background(), job, some)
			check(err)
			store(part, results)
		}
		prices = append(prices, results...)
	}
	check(write(target, prices))
	fmt.Printf("%d prices in %s\n", len(selections), target)
}

// lanes lists each lane of each card.
func lanes(client *ninepocket.Client) (all []ninepocket.PriceSelection) {
	for product, err := range client.Products(context.Background(), ninepocket.ProductsListParams{Game: "pokemon"}) {
		check(err)
		for _, lane := range product.PriceOptions { // a sealed product has none
			all = append(all, ninepocket.PriceSelection{
				Kind: "card", ProductID: product.ID, Variant: lane.Variant, Condition: lane.Condition,
			})
		}
	}
	return all
}

// write writes the prices as a table.
func write(target string, prices []ninepocket.PriceResult) error {
	file, err := os.Create(target)
	if err != nil {
		return err
	}

	rows := csv.NewWriter(file)
	check(rows.Write([]string{"product_id", "variant", "condition", "status", "cents", "as_of"}))
	for _, result := range prices {
		cents := ""
		asOf := ""
		if result.Price != nil {
			cents = strconv.FormatInt(result.Price.AmountCents, 10)
		}
		if result.Observation != nil && result.Observation.SourceAsOf != nil {
			asOf = *result.Observation.SourceAsOf
		}
		chosen := result.Selection
		check(rows.Write([]string{chosen.ProductID, chosen.Variant, chosen.Condition, result.Status, cents, asOf}))
	}
	rows.Flush()
	check(rows.Error())
	return file.Close()
}

// load reads the results of an earlier run, if there are any.
func load(name string, into any) bool {
	text, err := os.ReadFile(name)
	return err == nil && json.Unmarshal(text, into) == nil
}

// store writes a file that is there whole or not at all.
func store(name string, what any) {
	text, err := json.Marshal(what)
	check(err)
	check(os.WriteFile(name+".new", text, 0o600))
	check(os.Rename(name+".new", name))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
