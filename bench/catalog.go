package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// sample is the part of a server's catalog that requests are made of. It is read through the API,
// so that any running server can be driven.
type sample struct {
	keys       Keys
	cards      []sampleCard
	sets       []string // ids
	selections []selection
}

// Keys are the API keys for a server. If Preview is empty, the preview contract is not driven.
type Keys struct {
	Live, Preview string
}

type sampleCard struct{ ID, Name string }

// selection is one item of a preview price batch.
type selection struct {
	Kind      string `json:"kind"`
	ProductID string `json:"product_id"`
	Variant   string `json:"variant,omitempty"`
	Condition string `json:"condition,omitempty"`
}

// The size of a sample: the largest batch, and the pages that are needed for it.
const (
	sampleCards, sampleSelections = 200, 50
)

// readSample reads a sample from the server at an address.
func readSample(address string, keys Keys) (*sample, error) {
	sample := &sample{keys: keys}
	var sets struct{ Data []struct{ ID string } }
	if err := getJSON(address, "/v1/sets?limit=50", keys.Live, &sets); err != nil {
		return nil, err
	}

	for _, set := range sets.Data {
		sample.sets = append(sample.sets, set.ID)
	}
	if err := sample.readCards(address); err != nil {
		return nil, err
	}
	if len(sample.cards) < sampleCards || len(sample.sets) == 0 {
		return nil, fmt.Errorf("the server has %d cards and %d sets: too few to measure", len(sample.cards),
			len(sample.sets))
	}
	if keys.Preview != "" {
		if err := sample.readSelections(address); err != nil {
			return nil, err
		}
	}
	return sample, nil
}

// readCards reads a few cards at each of many prices, so that they are neither the most expensive
// nor all of one set. In a catalog without prices it reads some of each set.
func (s *sample) readCards(address string) error {
	var queries []string
	for low := 0; low < 2000; low += 20 {
		queries = append(queries, fmt.Sprintf("&sort=price_asc&min_price_cents=%d", low))
	}

	for _, set := range s.sets {
		queries = append(queries, "&set="+set)
	}
	seen := map[string]bool{}
	for _, query := range queries {
		var page struct{ Data []sampleCard }
		if err := getJSON(address, "/v1/cards?limit=10"+query, s.keys.Live, &page); err != nil {
			return err
		}

		for _, card := range page.Data {
			if !seen[card.ID] {
				seen[card.ID] = true
				s.cards = append(s.cards, card)
			}
		}
		if len(s.cards) >= sampleCards {
			s.cards = s.cards[:sampleCards]
			break
		}
	}
	return nil
}

// readSelections reads every price option of the first products until a batch is full.
func (s *sample) readSelections(address string) error {
	for next := ""; len(s.selections) < sampleSelections; {
		var page struct {
			Data []struct {
				ID, Kind     string
				PriceOptions []struct{ Variant, Condition string } `json:"price_options"`
			}
			Pagination struct {
				Next string `json:"next_cursor"`
			}
		}
		if err := getJSON(address, "/v1/products?kind=card&limit=50"+next, s.keys.Preview, &page); err != nil {
			return err
		}

		for _, product := range page.Data {
			for _, option := range product.PriceOptions {
				s.selections = append(s.selections, selection{
					product.Kind, product.ID, option.Variant,
					option.Condition,
				})
			}
		}
		if page.Pagination.Next == "" {
			break
		}
		next = "&cursor=" + url.QueryEscape(page.Pagination.Next)
	}

	s.selections = s.selections[:min(len(s.selections), sampleSelections)]
	return nil
}

// getJSON requests a path and decodes a success.
func getJSON(address, target, key string, into any) error {
	a, err := requestOnce(address, encode(http.MethodGet, target, key, ""))
	if err != nil {
		return err
	}
	if a.status != http.StatusOK {
		return fmt.Errorf("cannot read %s: the server answered %d: %s", target, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("cannot read the answer to %s: %w", target, err)
	}
	return nil
}

// encode returns an HTTP request. Headers are whole lines.
func encode(method, target, key, body string, headers ...string) []byte {
	var w strings.Builder
	fmt.Fprintf(&w, "%s %s HTTP/1.1\r\nHost: localhost\r\nUser-Agent: ninepocket-bench\r\nAccept: */*\r\n"+
		"X-API-Key: %s\r\n", method, target, key)
	for _, h := range headers {
		w.WriteString(h + "\r\n")
	}

	if body != "" {
		fmt.Fprintf(&w, "Content-Type: application/json\r\nContent-Length: %d\r\n", len(body))
	}
	return []byte(w.String() + "\r\n" + body)
}

// words returns distinct words of card names that have letters only, and at least that many.
func (s *sample) words(letters int) []string {
	var all []string
	seen := map[string]bool{}
	for _, card := range s.cards {
		for word := range strings.FieldsFuncSeq(card.Name, func(r rune) bool { return !unicode.IsLetter(r) }) {
			word = strings.ToLower(word)
			if len(word) >= letters && isASCII(word) && !seen[word] {
				seen[word] = true
				all = append(all, word)
			}
		}
	}
	return all
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r > unicode.MaxASCII }) < 0
}

// without removes letters from a word; the first stays.
func without(word string, at ...int) string {
	out := []byte(word)
	for k, i := range at {
		out = append(out[:i-k], out[i-k+1:]...)
	}
	return string(out)
}

// ids returns the body of a batch of n cards, beginning with a different card for each k.
func (s *sample) ids(n, k int) string {
	quoted := make([]string, n)
	for i := range quoted {
		quoted[i] = strconv.Quote(s.cards[(i+k*31)%len(s.cards)].ID)
	}
	return `{"ids":[` + strings.Join(quoted, ",") + `]}`
}
