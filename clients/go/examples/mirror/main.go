// Command mirror keeps a local copy of the catalog in a folder, and shows its most expensive cards. Run
// it once a day.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	ninepocket "ninepocket/clients/go"
)

func main() {
	client := ninepocket.New(os.Getenv("API"), os.Getenv("KEY"), ninepocket.Options{})
	mirror, err := ninepocket.OpenMirror(client, os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	before := mirror.SnapshotID()
	if err := mirror.Sync(context.Background()); err != nil {
		log.Fatal(err)
	}
	news := "something"
	if mirror.SnapshotID() == before {
		news = "nothing"
	}
	fmt.Println(news, "was new in", mirror.SnapshotID())

	expensive := slices.SortedStableFunc(mirror.Cards(), func(a, b *ninepocket.CardDetail) int {
		return cmp.Compare(highest(b), highest(a))
	})
	for _, card := range expensive[:5] {
		fmt.Printf("%s %s %.2f\n", card.Name, ninepocket.ValueOf(card.Number), float64(highest(card))/100)
	}
}

// highest returns the highest price of a card, 0 for none.
func highest(card *ninepocket.CardDetail) (cents int64) {
	for _, lane := range card.Prices {
		cents = max(cents, lane.MarketPriceCents)
	}
	return cents
}
