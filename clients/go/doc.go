// Package ninepocket is a client of the ninepocket API: search and prices of trading cards, batches
// that are never charged twice, walks that lose no row, and a mirror of the whole catalog.
//
//	client := ninepocket.New("https://cards.example", key, ninepocket.Options{})
//	for card, err := range client.Cards(ctx, ninepocket.CardsSearchParams{Q: "charizard"}) { … }
//
// Calls are tried again as the API's guide asks, until a deadline. What the API refused is an
// [Error], with its code and what to do; what never became an answer is an [UnreachableError]. A
// client is safe for concurrent use.
package ninepocket
