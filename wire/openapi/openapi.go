// Package openapi has the OpenAPI document. It is written by hand and defines the service's
// responses.
//
// The document describes both surfaces. Everything of the preview contract alone has the extension
// "x-surface": "preview": operations, parameters, headers, media types, examples, components.
// "x-live-description" replaces the description when preview is off. "x-required-on" names the
// surface on which an otherwise optional response header is always present.
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

// Document returns a copy of the document as written, with "{base_url}" for the server's address.
func Document() []byte { return []byte(document) }

// The places of the document that name games: a text of its introduction, and two lists.
const (
	writtenGames = "Pokémon and One Piece"
	gameCodes    = "/components/schemas/GameCode/enum"
	gameEditions = "/components/schemas/SealedProduct/properties/edition/enum"
)

// Render returns the document for a server at baseURL: compact, with that server in "servers".
// Members stay in the order of the document. With preview off, everything of the preview contract
// alone is left out.
func Render(baseURL string, preview bool) ([]byte, error) {
	text := jsontext.Value(strings.Replace(document, writtenGames, snapshot.GamesInWords(), 1))
	if err := text.Compact(); err != nil {
		return nil, fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}
	written, err := jsonwalk.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}

	// The games of the table replace those that are written in the document.
	codes := []string{}
	editions := []string{snapshot.StandardEdition}
	for _, game := range snapshot.Games {
		codes = append(codes, game.Preview)
		editions = append(editions, game.Editions...)
	}

	r := rendering{
		preview: preview, dropped: map[string]bool{}, soleChoices: map[string]jsonwalk.Value{},
		replacements: map[jsontext.Pointer]jsonwalk.Value{},
	}
	servers := []map[string]string{{"url": baseURL, "description": "This server"}}
	for at, with := range map[jsontext.Pointer]any{"/servers": servers, gameCodes: codes, gameEditions: editions} {
		r.replacements[at], err = json.Marshal(with, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("cannot write %q at %s of the OpenAPI document: %w", with, at, err)
		}
	}

	// A reference to a component of the preview contract is dropped with the component.
	if !preview {
		for kind, components := range written.Member("components").Members() {
			for name, component := range components.Members() {
				if component.Member("x-surface").Is("preview") {
					r.dropped["#/components/"+kind.Text()+"/"+name.Text()] = true
				}
			}
		}

		// A component with one alternative left is replaced by that alternative in every reference.
		for name, component := range written.Member("components").Member("schemas").Members() {
			choice := r.value(component, "")
			if component.Member("oneOf") != nil && choice != nil && choice.Member("$ref") != nil {
				r.soleChoices["#/components/schemas/"+name.Text()] = choice
			}
		}
	}

	return r.value(written, ""), nil
}

// WithProductPrefix returns a rendered document for a server whose product ids start with prefix
// instead of "prd".
func WithProductPrefix(rendered []byte, prefix string) []byte {
	return bytes.ReplaceAll(rendered, []byte("prd_"), []byte(prefix+"_"))
}

// A rendering copies the document value by value, without the parts that the server does not serve.
type rendering struct {
	preview      bool
	dropped      map[string]bool                     // references to components of the preview contract
	soleChoices  map[string]jsonwalk.Value           // by reference: the alternative that is left of a choice
	replacements map[jsontext.Pointer]jsonwalk.Value // values that replace those of the document
}

// value renders the value at a JSON pointer. It returns nil if the value is left out.
func (r *rendering) value(value jsonwalk.Value, at jsontext.Pointer) jsonwalk.Value {
	if instead := r.replacements[at]; instead != nil {
		value = instead
	}

	switch value.Kind() {
	case '[':
		return r.array(value, at)
	case '{':
		return r.object(value, at)
	}
	return value
}

// member is a member of an object.
type member struct{ name, value jsonwalk.Value }

// members returns the members of an object in their order, and a function that finds one by its
// name. Reading an object costs as much as all its text, so each object is read once.
func members(object jsonwalk.Value) (all []member, named func(name string) jsonwalk.Value) {
	for name, value := range object.Members() {
		all = append(all, member{name, value})
	}

	return all, func(name string) jsonwalk.Value {
		for _, have := range all {
			if have.name.Is(name) {
				return have.value
			}
		}
		return nil
	}
}

func (r *rendering) object(object jsonwalk.Value, at jsontext.Pointer) jsonwalk.Value {
	const liveDescription = "x-live-description"
	all, named := members(object)

	// Parts of the preview contract and references to them are left out.
	ref := ""
	if to := named("$ref"); to.Kind() == '"' {
		ref = to.Text()
	}
	dropped := named("x-surface").Is("preview") || r.dropped[ref]
	if dropped && !r.preview {
		return nil
	}

	if left := r.soleChoices[ref]; left != nil {
		return left
	}
	if r.soleChoices["#"+string(at)] != nil {
		return nil
	}

	// Examples stay as they are.
	if name := at.LastToken(); name == "example" || name == "value" {
		return object
	}

	out := jsonwalk.Value{'{'}
	live := named(liveDescription)
	for _, m := range all {
		switch {
		case m.name.Is(liveDescription):
			continue
		case m.name.Is("description") && live != nil && !r.preview:
			m.value = live
		}

		// A path or a list of parameters that became empty is left out, too.
		rendered := r.value(m.value, at.AppendToken(m.name.Text()))
		switch {
		case rendered == nil, at == "/paths" && string(rendered) == "{}",
			m.name.Is("parameters") && string(rendered) == "[]" && string(m.value) != "[]":
			continue
		}
		out = append(append(append(append(out, m.name...), ':'), rendered...), ',')
	}
	out = closeList(out, '}')

	// A choice with one alternative left is replaced by that alternative.
	if len(all) == 1 && all[0].name.Is("oneOf") {
		if left := slices.Collect(out.Member("oneOf").Elements()); len(left) == 1 {
			return left[0]
		}
	}
	return out
}

func (r *rendering) array(value jsonwalk.Value, at jsontext.Pointer) jsonwalk.Value {
	out := jsonwalk.Value{'['}
	for element := range value.Elements() {
		if rendered := r.value(element, at.AppendToken("-")); rendered != nil {
			out = append(append(out, rendered...), ',')
		}
	}
	return closeList(out, ']')
}

// closeList ends a list whose every element is followed by a comma.
func closeList(list jsonwalk.Value, bracket byte) jsonwalk.Value {
	return append(bytes.TrimSuffix(list, []byte{','}), bracket)
}
