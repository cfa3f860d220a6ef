// Command movers watches which prices move: it prints each card once that rose more than 10 percent.
// It ends after ROUNDS looks.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	ninepocket "ninepocket/clients/go"
)

func main() {
	client := ninepocket.New(os.Getenv("API"), os.Getenv("KEY"), ninepocket.Options{})
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS")) // 0 is for ever
	pause, err := time.ParseDuration(os.Getenv("PAUSE") + "s")
	if err != nil {
		pause = 5 * time.Minute
	}

	seen := map[string]bool{}
	for done := 1; ; done++ {
		// Until the next release the response is a 304, which does not count against the day.
		movers, err := client.Movers(context.Background(), ninepocket.MarketMoversParams{Direction: "up", Limit: 50})
		if err != nil {
			log.Fatal(err)
		}
		for _, mover := range movers.Data {
			if mover.PriceChangePercent == nil || *mover.PriceChangePercent <= 10 || mover.MarketPriceCents == nil {
				continue
			}
			price := fmt.Sprint(mover.ID, *mover.MarketPriceCents)
			if !seen[price] {
				seen[price] = true
				fmt.Printf("%+8.2f %%  %s %s  %s\n", *mover.PriceChangePercent, mover.Name,
					ninepocket.ValueOf(mover.Number), ninepocket.ValueOf(mover.URL))
			}
		}
		if done == rounds {
			return
		}
		time.Sleep(pause)
	}
}
