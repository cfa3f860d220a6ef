// Command mcpclient calls the tools with the official Go SDK: with its default version, and with an
// older version.
//
//	go run ./mcpclient http://127.0.0.1:8080/mcp KEY
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: mcpclient URL KEY")
		os.Exit(2)
	}

	// The newest version first, which is the default of the SDK.
	for _, as := range []struct{ asked, version string }{
		{"", "2026-07-28"}, {"2025-11-25", "2025-11-25"}, {"2025-06-18", "2025-06-18"},
	} {
		if err := try(os.Args[1], os.Args[2], as.asked, as.version); err != nil {
			fmt.Fprintf(os.Stderr, "go-sdk, %q: %v\n", as.asked, err)
			os.Exit(1)
		}
	}
}

// keyed adds the key to every request, and counts them.
type keyed struct {
	key  string
	sent atomic.Int64
}

func (k *keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	k.sent.Add(1)
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// try connects, and calls every tool once.
func try(url, key, asked, want string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	road := &keyed{key: key}
	client := mcp.NewClient(&mcp.Implementation{Name: "ninepocket-client-test", Version: "1.0.0"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: road}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: asked})
	if err != nil {
		return err
	}
	defer session.Close()

	connecting := road.sent.Load()
	hello := session.InitializeResult()
	if hello.ProtocolVersion != want || hello.Instructions == "" ||
		hello.ServerInfo == nil || hello.ServerInfo.Name != "ninepocket" {
		return fmt.Errorf("connected as %+v, want %s", hello, want)
	}

	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}

	// The first call returns the card id that the next ones need.
	var found struct {
		Cards []struct {
			ID string `json:"id"`
		} `json:"cards"`
	}
	search := map[string]any{"query": "pikachu"}
	if err := call(ctx, session, names, "catalog_search_cards", search, &found); err != nil {
		return err
	}
	if len(found.Cards) == 0 {
		return errors.New("no card was found")
	}

	id := found.Cards[0].ID
	calls := []struct {
		tool      string
		arguments map[string]any
	}{
		{"catalog_get_card", map[string]any{"id": id}},
		{"catalog_get_price_history", map[string]any{"id": id, "days": 30}},
		{"catalog_value_cards", map[string]any{"cards": []any{map[string]any{"id": id, "quantity": 2}}}},
		{"catalog_browse_sets", map[string]any{}},
		{"catalog_get_market_movers", map[string]any{"direction": "up"}},
	}
	for _, c := range calls {
		if err := call(ctx, session, names, c.tool, c.arguments, nil); err != nil {
			return err
		}
	}

	if _, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "catalog_nothing"}); err == nil {
		return errors.New("a tool that there is not was called")
	}
	fmt.Printf("go-sdk: %s by %d requests, %d tools called\n", want, connecting, len(calls)+1)
	return nil
}

// call calls a listed tool and reads its structured content into v.
func call(
	ctx context.Context, s *mcp.ClientSession, listed []string, tool string, arguments map[string]any, v any,
) error {
	if !slices.Contains(listed, tool) {
		return fmt.Errorf("%s is not listed", tool)
	}
	result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", tool, err)
	case result.IsError || len(result.Content) != 1 || result.StructuredContent == nil:
		return fmt.Errorf("%s answered %+v", tool, result)
	case v == nil:
		return nil
	}

	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, v)
}
