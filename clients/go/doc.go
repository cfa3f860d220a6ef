// Package ninepocket is a client of the ninepocket API: search and prices of trading cards, batches
// that are never charged twice, pagination that loses no row, and a mirror of the whole catalog.
//
//	client := ninepocket.New("https://cards.example", key, ninepocket.Options{})
//	for card, err := range client.Cards(ctx, ninepocket.CardsSearchParams{Q: "charizard"}) { … }
//
// Calls are repeated as the API's guide says, until a deadline. A refusal of the API is an
// [Error], with its code and a remedy. A call without any response is an [UnreachableError]. A
// client is safe for concurrent use.
package ninepocket
