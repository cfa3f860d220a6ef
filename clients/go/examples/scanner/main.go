// Command scanner is a scanner at a counter: it completes a typed name, then prices the lines that
// a camera read.
//
// Lines of the input: `? words` completes words, `name;number;set` prices a card.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	ninepocket "ninepocket/clients/go"
)

func main() {
	client := ninepocket.New(os.Getenv("API"), os.Getenv("KEY"), ninepocket.Options{Deadline: 5 * time.Second})
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var err error
		if words, typed := strings.CutPrefix(input.Text(), "?"); typed {
			err = complete(client, strings.TrimSpace(words))
		} else {
			err = price(client, strings.TrimSpace(strings.ReplaceAll(input.Text(), ";", " ")))
		}

		var refused *ninepocket.Error
		if errors.As(err, &refused) && refused.Code == "invalid_request" {
			fmt.Println(refused.Detail) // the next line may be valid
		} else if err != nil {
			log.Fatal(err)
		}
	}
}

func complete(client *ninepocket.Client, words string) error {
	found, err := client.Suggest(context.Background(), ninepocket.SuggestListParams{Q: words, Limit: 5})
	if err != nil {
		return err
	}
	for _, suggestion := range found.Data {
		fmt.Printf("  %s: %s (%d cards)\n", suggestion.Kind, suggestion.Text, suggestion.Cards)
	}
	return nil
}

func price(client *ninepocket.Client, words string) error {
	search := ninepocket.CardsSearchParams{Q: words, Include: "prices", Limit: 1}
	for card, err := range client.Cards(context.Background(), search) {
		if err != nil {
			return err
		}

		prices := []string{}
		for _, lane := range card.Prices {
			dollars := float64(lane.MarketPriceCents) / 100
			prices = append(prices, fmt.Sprintf("%s %s %.2f", lane.Variant, lane.Condition, dollars))
		}
		if len(prices) == 0 {
			prices = append(prices, "no price")
		}
		fmt.Println(card.Name, ninepocket.ValueOf(card.Number), "/", strings.Join(prices, ", "))
		return nil
	}
	fmt.Println("no such card:", words)
	return nil
}
