// Command collection prices a collection: a CSV that an app exported, or one with the columns Name,
// Set, Number and Qty.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	ninepocket "ninepocket/clients/go"
)

func main() {
	client := ninepocket.New(os.Getenv("API"), os.Getenv("KEY"), ninepocket.Options{})
	table, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	worth, err := client.ValueCSV(context.Background(), table)
	if err != nil {
		log.Fatal(err)
	}

	for _, item := range worth.Items {
		if item.Card == nil || item.TotalCents == nil {
			fmt.Printf("row %d: %s: %s\n", item.Index+1, item.Status, ninepocket.ValueOf(item.Note))
			continue
		}
		fmt.Printf("%10.2f  %d x %s %s, %s\n", dollars(*item.TotalCents), item.Quantity, item.Card.Name,
			ninepocket.ValueOf(item.Card.Number), ninepocket.ValueOf(item.Variant))
	}
	totals := worth.Totals
	fmt.Printf("%10.2f  in all, at %s\n", dollars(totals.ExactCents+totals.AssumedCents), worth.SnapshotAt)
}

func dollars(cents int64) float64 { return float64(cents) / 100 }
