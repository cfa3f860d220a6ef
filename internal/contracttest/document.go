// Package contracttest validates HTTP responses against the OpenAPI document. It also returns what
// the document declares: its operations, the bounds of their parameters, and the error codes of
// each surface.
package contracttest

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ninepocket/wire/openapi"
)

// The surfaces an operation or a response belongs to.
const (
	Live    = "live"
	Preview = "preview"
	Shared  = "shared"  // operations only: the key decides
	Service = "service" // operations only: no key
)

type object = map[string]any

// document is the OpenAPI document, read once; schemas are compiled when they are first needed. It
// is safe for concurrent use.
type document struct {
	root     object
	paths    []path
	compiler *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema // by pointer

	nodes  sync.Map // by pointer
	passed sync.Map // members of bodies that passed, by fingerprint
}

// path is a path of the document, split at slashes.
type path struct {
	template string
	segments []string
	item     object
}

var load = sync.OnceValue(func() *document {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(openapi.Document()))
	if err != nil {
		panic(fmt.Errorf("cannot read the OpenAPI document: %w", err))
	}
	d := &document{root: asObject(value), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource("openapi.json", value); err != nil {
		panic(fmt.Errorf("cannot use the OpenAPI document: %w", err))
	}
	for template, item := range asObject(d.root["paths"]) {
		d.paths = append(d.paths, path{template, strings.Split(template, "/"), asObject(item)})
	}
	// Literal paths before those with parameters.
	slices.SortFunc(d.paths, func(a, b path) int {
		return strings.Compare(strings.ReplaceAll(a.template, "{", "\x7f"), strings.ReplaceAll(b.template, "{", "\x7f"))
	})
	return d
})

// schema compiles the schema at a JSON pointer, once.
func (d *document) schema(pointer string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema, done := d.schemas[pointer]; done {
		return schema, nil
	}

	schema, err := d.compiler.Compile("openapi.json#" + pointer)
	if err != nil {
		return nil, fmt.Errorf("cannot compile the schema at %s: %w", pointer, err)
	}
	d.schemas[pointer] = schema
	return schema, nil
}

// node is an object of the document and its JSON pointer.
type node struct {
	pointer string
	object
}

// at returns the object at a pointer, following references.
func (d *document) at(pointer string) node {
	known, _ := d.nodes.Load(pointer)
	if found, is := known.(node); is {
		return found
	}

	found := d.lookUp(pointer)
	d.nodes.Store(pointer, found)
	return found
}

func (d *document) lookUp(pointer string) node {
	value := any(d.root)
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if elements, is := value.([]any); is {
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(elements) {
				return node{pointer: pointer}
			}

			value = elements[i]
			continue
		}
		value = asObject(value)[token]
	}

	if target, is := asObject(value)["$ref"].(string); is {
		return d.at(strings.TrimPrefix(target, "#"))
	}
	return node{pointer, asObject(value)}
}

// child returns a member of a node, following references. It has no object if the member is
// missing.
func (d *document) child(n node, name string) node {
	if _, has := n.object[name]; !has {
		return node{pointer: n.pointer + "/" + escape(name)}
	}
	return d.at(n.pointer + "/" + escape(name))
}

// names returns the members of an object, sorted.
func (n node) names() []string { return slices.Sorted(maps.Keys(n.object)) }

func (n node) text(name string) string {
	text, _ := n.object[name].(string)
	return text
}

func escape(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func asObject(value any) object {
	o, _ := value.(object)
	return o
}

// find returns the path that a request belongs to, and whether it has the method. A literal path
// comes before one with parameters, unless only the latter has the method.
func (d *document) find(requested, method string) (found path, hasMethod bool) {
	segments := strings.Split(requested, "/")
	if len(segments) > 2 && segments[len(segments)-1] == "" {
		// One trailing slash is tolerated, but not where a record's empty id may be meant (decision 4).
		if requested == "/v1/cards/" || requested == "/v1/sets/" {
			return path{}, false
		}
		segments = segments[:len(segments)-1]
	}

	for _, p := range d.paths {
		if !p.matches(segments) {
			continue
		}
		if _, has := p.item[method]; has {
			return p, true
		}
		if found.template == "" {
			found = p
		}
	}
	return found, false
}

func (p path) matches(segments []string) bool {
	return slices.EqualFunc(p.segments, segments, func(mine, theirs string) bool {
		return mine == theirs || strings.HasPrefix(mine, "{") && theirs != ""
	})
}
