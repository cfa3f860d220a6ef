// Package openapi holds the hand-written OpenAPI document, the source of truth for what the service
// answers.
//
// The document describes both surfaces. What belongs to the preview contract only is marked with
// the extension "x-surface": "preview", wherever it stands: operations, parameters, headers, media
// types, examples, components. "x-live-description" is the description to show instead where
// preview is off, and "x-required-on" names the surface on which an otherwise optional response
// header is always present.
package openapi

import (
	"bytes"
	_ "embed" // the document
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/internal/jsonwalk"
	"ninepocket/snapshot"
)

//go:embed openapi.json
var document string

// Document returns a copy of the document as it is written, with "{base_url}" for the server's
// address.
func Document() []byte { return []byte(document) }

// Where the document lists what the table of games knows, and how its introduction names the games.
const (
	writtenGames = "Pokémon and One Piece"
	gameCodes    = "/components/schemas/GameCode/enum"
	gameEditions = "/components/schemas/SealedProduct/properties/edition/enum"
)

// Render returns the document as a server at baseURL serves it: compact, members in the order they
// are written, with that server in "servers". With preview off, everything that belongs to the
// preview contract only is left out.
func Render(baseURL string, preview bool) ([]byte, error) {
	text := strings.Replace(document, writtenGames, snapshot.GamesInWords(), 1)
	written, err := jsonwalk.Parse([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}

	// The games of the table take the places of those that are written in the document.
	codes := []string{}
	editions := []string{snapshot.StandardEdition}
	for _, game := range snapshot.Games {
		codes = append(codes, game.Preview)
		editions = append(editions, game.Editions...)
	}

	r := rendering{preview: preview, dropped: map[string]bool{}, instead: map[jsontext.Pointer]jsonwalk.Value{}}
	servers := []map[string]string{{"url": baseURL, "description": "This server"}}
	for at, with := range map[jsontext.Pointer]any{"/servers": servers, gameCodes: codes, gameEditions: editions} {
		r.instead[at], err = json.Marshal(with, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("cannot write %q at %s of the OpenAPI document: %w", with, at, err)
		}
	}

	// A reference to a component of the preview contract goes with the component.
	if !preview {
		for kind, components := range written.Member("components").Members() {
			for name, component := range components.Members() {
				if component.Member("x-surface").Is("preview") {
					r.dropped["#/components/"+kind.Text()+"/"+name.Text()] = true
				}
			}
		}
	}

	out := jsontext.Value(r.value(written, ""))
	if err := out.Compact(); err != nil {
		return nil, fmt.Errorf("cannot render the OpenAPI document: %w", err)
	}

	return out, nil
}

// WithProductPrefix returns a rendered document for a server whose product ids start with prefix
// instead of "prd".
func WithProductPrefix(rendered []byte, prefix string) []byte {
	return bytes.ReplaceAll(rendered, []byte("prd_"), []byte(prefix+"_"))
}

// A rendering copies the document value by value and leaves out what the server does not serve.
type rendering struct {
	preview bool
	dropped map[string]bool                     // references to components of the preview contract
	instead map[jsontext.Pointer]jsonwalk.Value // values to render in place of those that are written
}

// drops reports whether an object is left out, and a reference to one that is.
func (r *rendering) drops(value jsonwalk.Value) bool {
	if r.preview {
		return false
	}
	ref := value.Member("$ref")
	return value.Member("x-surface").Is("preview") || ref.Kind() == '"' && r.dropped[ref.Text()]
}

// value renders the value at a JSON pointer; nil when it is left out.
func (r *rendering) value(value jsonwalk.Value, at jsontext.Pointer) jsonwalk.Value {
	if instead := r.instead[at]; instead != nil {
		value = instead
	}

	name := at.LastToken()
	switch {
	case r.drops(value):
		return nil
	case value.Kind() == '[':
		return r.array(value, at)
	case value.Kind() == '{' && name != "example" && name != "value": // what an example shows is not ours to change
		return r.object(value, at)
	}
	return value
}

func (r *rendering) object(value jsonwalk.Value, at jsontext.Pointer) jsonwalk.Value {
	const liveDescription = "x-live-description"
	live := value.Member(liveDescription)
	out := jsonwalk.Value{'{'}
	members := 0

	for name, member := range value.Members() {
		members++
		switch {
		case name.Is(liveDescription):
			continue
		case name.Is("description") && live != nil && !r.preview:
			member = live
		}

		// A path or a list of parameters of which nothing is left goes as well.
		kept := r.value(member, at.AppendToken(name.Text()))
		switch {
		case kept == nil, at == "/paths" && string(kept) == "{}",
			name.Is("parameters") && string(kept) == "[]" && string(member) != "[]":
			continue
		}
		out = append(append(append(append(out, name...), ':'), kept...), ',')
	}
	out = closed(out, '}')

	// A choice that is left with one alternative is that alternative.
	if all := slices.Collect(out.Member("oneOf").Elements()); members == 1 && len(all) == 1 {
		return all[0]
	}
	return out
}

func (r *rendering) array(value jsonwalk.Value, at jsontext.Pointer) jsonwalk.Value {
	out := jsonwalk.Value{'['}
	for element := range value.Elements() {
		if kept := r.value(element, at.AppendToken("-")); kept != nil {
			out = append(append(out, kept...), ',')
		}
	}
	return closed(out, ']')
}

// closed ends a list each element of which has a comma behind it.
func closed(list jsonwalk.Value, bracket byte) jsonwalk.Value {
	return append(bytes.TrimSuffix(list, []byte{','}), bracket)
}
