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
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"ninepocket/snapshot"
)

//go:embed openapi.json
var document string

// Document returns a copy of the document as it is written, with "{base_url}" for the server's
// address.
func Document() []byte { return []byte(document) }

// Render returns the document as a server at baseURL serves it: compact, members in the order they
// are written, with that server in "servers". With preview off, everything that belongs to the
// preview contract only is left out.
func Render(baseURL string, preview bool) ([]byte, error) {
	r := rendering{preview: preview, dropped: map[string]bool{}, instead: map[jsontext.Pointer]jsontext.Value{}}
	if !preview {
		if err := r.findDropped(); err != nil {
			return nil, fmt.Errorf("cannot read the components of the OpenAPI document: %w", err)
		}
	}

	// The document that is written names a placeholder for the server's address.
	servers := []map[string]string{{"url": baseURL, "description": "This server"}}
	if err := r.replace("/servers", servers); err != nil {
		return nil, fmt.Errorf("cannot write the base URL %q: %w", baseURL, err)
	}
	if err := r.replaceGames(); err != nil {
		return nil, fmt.Errorf("cannot write the games into the OpenAPI document: %w", err)
	}

	// The introduction names the games in a sentence.
	text := strings.Replace(document, writtenGames, snapshot.GamesInWords(), 1)
	out, err := r.value(jsontext.Value(text), "")
	if err != nil {
		return nil, fmt.Errorf("cannot render the OpenAPI document: %w", err)
	}
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
	instead map[jsontext.Pointer]jsontext.Value // values to render in place of those that are written
}

// Where the document lists what the table of games knows, and how its introduction names the games.
const (
	writtenGames = "Pokémon and One Piece"
	gameCodes    = "/components/schemas/GameCode/enum"
	gameEditions = "/components/schemas/SealedProduct/properties/edition/enum"
)

// replaceGames puts the games of the table in place of those that are written in the document.
func (r *rendering) replaceGames() error {
	codes := []string{}
	editions := []string{snapshot.StandardEdition}
	for _, game := range snapshot.Games {
		codes = append(codes, game.Preview)
		editions = append(editions, game.Editions...)
	}

	if err := r.replace(gameCodes, codes); err != nil {
		return err
	}

	return r.replace(gameEditions, editions)
}

func (r *rendering) replace(at jsontext.Pointer, with any) (err error) {
	r.instead[at], err = json.Marshal(with, json.Deterministic(true))

	return err
}

// marks are the members of an object that decide what becomes of it.
type marks struct {
	Ref             string `json:"$ref"`
	Surface         string `json:"x-surface"`
	LiveDescription string `json:"x-live-description"`
}

func (r *rendering) findDropped() error {
	var parts struct {
		Components map[string]map[string]marks `json:"components"`
	}
	if err := json.Unmarshal([]byte(document), &parts); err != nil {
		return err
	}

	for kind, components := range parts.Components {
		for name, component := range components {
			if component.Surface == "preview" {
				r.dropped["#/components/"+kind+"/"+name] = true
			}
		}
	}

	return nil
}

// drops reports whether an object is left out, and a reference to one that is.
func (r *rendering) drops(value jsontext.Value) (bool, error) {
	if r.preview || value.Kind() != '{' {
		return false, nil
	}

	var m marks
	if err := json.Unmarshal(value, &m); err != nil {
		return false, err
	}

	return m.Surface == "preview" || r.dropped[m.Ref], nil
}

// value renders one value; at is its JSON pointer.
func (r *rendering) value(value jsontext.Value, at jsontext.Pointer) (jsontext.Value, error) {
	switch value.Kind() {
	case '{':
		if at.LastToken() == "example" || at.LastToken() == "value" {
			// What an example shows is not ours to change.
			return value, nil
		}
		return r.object(value, at)

	case '[':
		return r.array(value, at)
	default:
		return value, nil
	}
}

func (r *rendering) object(value jsontext.Value, at jsontext.Pointer) (jsontext.Value, error) {
	members, err := membersOf(value)
	if err != nil {
		return nil, err
	}

	var m marks
	if !r.preview {
		if err := json.Unmarshal(value, &m); err != nil {
			return nil, err
		}
	}

	out := jsontext.Value{'{'}
	for _, member := range members {
		switch {
		case member.name == "x-live-description":
			continue
		case member.name == "description" && m.LiveDescription != "":
			member.value, err = jsontext.AppendQuote(nil, m.LiveDescription)
			if err != nil {
				return nil, err
			}
		}

		if instead := r.instead[at.AppendToken(member.name)]; instead != nil {
			member.value = instead
		}

		kept, err := r.member(member, at)
		if err != nil {
			return nil, err
		}
		if kept == nil {
			continue
		}

		// A choice of one is no choice.
		if member.name == "oneOf" && len(members) == 1 {
			if only := onlyElement(kept); only != nil {
				return only, nil
			}
		}

		if len(out) > 1 {
			out = append(out, ',')
		}

		out, err = jsontext.AppendQuote(out, member.name)
		if err != nil {
			return nil, err
		}

		out = append(append(out, ':'), kept...)
	}

	return append(out, '}'), nil
}

// member renders a member's value, or returns nothing when it is left out: because it is marked, or
// because it is a path or a list of parameters of which nothing is left.
func (r *rendering) member(member member, at jsontext.Pointer) (jsontext.Value, error) {
	if drop, err := r.drops(member.value); drop || err != nil {
		return nil, err
	}
	kept, err := r.value(member.value, at.AppendToken(member.name))
	if err != nil {
		return nil, err
	}
	// A path all of whose operations are left out is none.
	if at == "/paths" && string(kept) == "{}" {
		return nil, nil
	}
	if member.name == "parameters" && string(kept) == "[]" && string(member.value) != "[]" {
		return nil, nil
	}

	return kept, nil
}

func (r *rendering) array(value jsontext.Value, at jsontext.Pointer) (jsontext.Value, error) {
	elements, err := elementsOf(value)
	if err != nil {
		return nil, err
	}

	out := jsontext.Value{'['}
	for _, element := range elements {
		drop, err := r.drops(element)
		if err != nil {
			return nil, err
		}
		if drop {
			continue
		}

		element, err = r.value(element, at.AppendToken("-"))
		if err != nil {
			return nil, err
		}

		if len(out) > 1 {
			out = append(out, ',')
		}

		out = append(out, element...)
	}

	return append(out, ']'), nil
}

type member struct {
	name  string
	value jsontext.Value
}

// membersOf splits an object into its members, in order.
func membersOf(object jsontext.Value) ([]member, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}

	var members []member
	for decoder.PeekKind() != '}' {
		// A token is valid until the next one, and a value until the next read.
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}

		text := name.String()
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}

		members = append(members, member{text, value.Clone()})
	}

	return members, nil
}

// elementsOf splits an array into its elements.
func elementsOf(array jsontext.Value) ([]jsontext.Value, error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(array))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}

	var elements []jsontext.Value
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		elements = append(elements, value.Clone())
	}

	return elements, nil
}

// onlyElement returns the element of an array that has exactly one.
func onlyElement(array jsontext.Value) jsontext.Value {
	elements, err := elementsOf(array)
	if err != nil || len(elements) != 1 {
		return nil
	}
	return elements[0]
}
