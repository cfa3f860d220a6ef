// Package openapi has the OpenAPI document. It is written by hand and defines the service's
// responses.
//
// The document as written describes both surfaces. A part with the extension "x-surface" belongs to that
// surface alone: an operation, a parameter, a header, a media type, an example, a property or a component.
// A part with "both" belongs to the whole document only. "x-live-description" replaces the description in
// the document of live keys, "x-preview-description" in that of preview keys; any other member is replaced
// likewise. "x-required-on" names the surface on which an otherwise optional header is always present.
package openapi

import (
	"bytes"
	_ "embed" // the document
	"fmt"
	"regexp"
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

// A Scope is the part of the contract that a document describes.
type Scope string

// The scopes: both surfaces, or one of them.
const (
	Both    Scope = "both"
	Live    Scope = "live"
	Preview Scope = "preview"
)

// Render returns the document for a server at baseURL and a program's version: compact, with that
// server in "servers". Members keep the order of the document. The document of one surface omits
// the other surface, and components without a reference.
func Render(baseURL, version string, scope Scope) ([]byte, error) {
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
		scope: scope, dropped: map[string]bool{}, soleChoices: map[string]jsonwalk.Value{},
		replacements: map[jsontext.Pointer]jsonwalk.Value{},
	}
	servers := []map[string]string{{"url": baseURL, "description": "This server"}}
	for at, with := range map[jsontext.Pointer]any{
		"/servers": servers, "/info/version": semantic(version), gameCodes: codes, gameEditions: editions,
	} {
		r.replacements[at], err = json.Marshal(with, json.Deterministic(true))
		if err != nil {
			return nil, fmt.Errorf("cannot write %q at %s of the OpenAPI document: %w", with, at, err)
		}
	}

	if scope == Both {
		return r.value(written, ""), nil
	}
	r.findDropped(written.Member("components"))
	r.unused = unused(r.value(written, ""))
	return r.value(written, ""), nil
}

var (
	semanticVersion = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	outsideBuild    = regexp.MustCompile(`[^0-9A-Za-z.-]+`)
)

// semantic returns a program's version as a semantic version. A build without a number gets
// 0.0.0-dev, followed by its build identifier.
func semantic(version string) string {
	number := strings.TrimPrefix(version, "v")
	if semanticVersion.MatchString(number) {
		return number
	}

	build := outsideBuild.ReplaceAllString(version, "-")
	if build == "" || build == "dev" {
		return "0.0.0-dev"
	}
	return "0.0.0-dev+" + build
}

// WithProductPrefix returns a rendered document for a server whose product ids start with prefix
// instead of "prd".
func WithProductPrefix(rendered []byte, prefix string) []byte {
	return bytes.ReplaceAll(rendered, []byte("prd_"), []byte(prefix+"_"))
}

// A rendering copies the document value by value, without the parts outside its scope.
type rendering struct {
	scope        Scope
	dropped      map[string]bool                     // references to components of another scope
	soleChoices  map[string]jsonwalk.Value           // by reference: the alternative that is left of a choice
	unused       map[jsontext.Pointer]jsonwalk.Value // components that nothing refers to
	replacements map[jsontext.Pointer]jsonwalk.Value // values that replace those of the document
}

// findDropped finds the components that are not of the scope: a reference to one is dropped with
// the component.
func (r *rendering) findDropped(components jsonwalk.Value) {
	for kind, named := range components.Members() {
		for name, component := range named.Members() {
			if r.foreign(component.Member("x-surface")) {
				r.dropped["#/components/"+kind.Text()+"/"+name.Text()] = true
			}
		}
	}

	// A component with one alternative left is replaced by that alternative in every reference.
	for name, component := range components.Member("schemas").Members() {
		choice := r.value(component, "")
		if component.Member("oneOf") != nil && choice != nil && choice.Member("$ref") != nil {
			r.soleChoices["#/components/schemas/"+name.Text()] = choice
		}
	}
}

// foreign reports whether a mark leaves its part out of the scope.
func (r *rendering) foreign(mark jsonwalk.Value) bool {
	return r.scope != Both && mark != nil && !mark.Is(string(r.scope))
}

var reference = regexp.MustCompile(`"#(/components/[^"]+)"`)

// unused returns the components of a document to which neither an operation refers nor a component
// that is used.
func unused(document jsonwalk.Value) map[jsontext.Pointer]jsonwalk.Value {
	left := map[jsontext.Pointer]jsonwalk.Value{}
	for kind, named := range document.Member("components").Members() {
		if kind.Is("securitySchemes") {
			continue
		}
		for name, component := range named.Members() {
			left[jsontext.Pointer("/components").AppendToken(kind.Text()).AppendToken(name.Text())] = component
		}
	}

	for reached := []jsonwalk.Value{document.Member("paths")}; len(reached) > 0; reached = reached[1:] {
		for _, found := range reference.FindAllSubmatch(reached[0], -1) {
			at := jsontext.Pointer(found[1])
			if component, is := left[at]; is {
				reached = append(reached, component)
				delete(left, at)
			}
		}
	}
	return left
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
	all, named := members(object)

	// Parts of the other surface and references to them are left out.
	ref := ""
	if to := named("$ref"); to.Kind() == '"' {
		ref = to.Text()
	}
	if r.foreign(named("x-surface")) || r.dropped[ref] || r.unused[at] != nil {
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
	for _, m := range all {
		m = r.member(m, named)
		if m.value == nil {
			continue
		}

		// A path, a kind of component or a list of parameters that became empty is left out, too.
		rendered := r.value(m.value, at.AppendToken(m.name.Text()))
		switch {
		case rendered == nil, (at == "/paths" || at == "/components") && string(rendered) == "{}",
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

// member returns a member of an object as the scope has it. One without a value is left out.
func (r *rendering) member(m member, named func(string) jsonwalk.Value) member {
	name := m.name.Text()
	switch {
	case strings.HasPrefix(name, "x-live-"), strings.HasPrefix(name, "x-preview-"):
		return member{}
	case r.scope == Both:
		return m
	case name == "x-surface": // all that is left is of this surface
		return member{}
	case name == "x-required-on":
		return member{jsonwalk.Value(`"required"`), jsonwalk.Value("true")}
	}

	if own := named("x-" + string(r.scope) + "-" + name); own != nil {
		m.value = own
	}
	return m
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
