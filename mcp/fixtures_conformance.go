//go:build conformance

package mcp

import (
	_ "embed" // the tools

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

//go:embed conformance/fixtures.json
var fixtureList []byte

// fixtures are the tools that the official conformance suite calls (see mcp/conformance).
func fixtures() []*tool {
	var list []struct {
		Name    string         `json:"name"`
		About   string         `json:"about"`
		Input   jsontext.Value `json:"input"`
		Literal jsontext.Value `json:"literal"`
	}
	if err := json.Unmarshal(fixtureList, &list); err != nil {
		panic(err) // the list is a file of the repository
	}

	var all []*tool
	for _, f := range list {
		all = append(all, &tool{
			name: f.Name, title: f.Name, description: f.About, input: string(f.Input), literal: string(f.Literal),
		})
	}
	return all
}
