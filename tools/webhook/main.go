// Command webhook verifies messages with the public library of Standard Webhooks: one JSON object a
// line on its standard input. It fails with the first one that the library does not accept.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// message is a message as received.
type message struct {
	Secret  string
	Headers http.Header
	Body    string
}

func main() {
	n := 0
	for decoder := json.NewDecoder(os.Stdin); decoder.More(); n++ {
		if err := verify(decoder); err != nil {
			fmt.Fprintf(os.Stderr, "message %d: %v\n", n, err)
			os.Exit(1)
		}
	}
	fmt.Println(n, "messages are good")
}

// verify verifies the next message.
func verify(decoder *json.Decoder) error {
	var got message
	if err := decoder.Decode(&got); err != nil {
		return err
	}
	library, err := webhooks.NewWebhook(got.Secret)
	if err != nil {
		return err
	}
	// The tests have their own clock.
	return library.VerifyIgnoringTimestamp([]byte(got.Body), got.Headers)
}
