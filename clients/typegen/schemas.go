package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"ninepocket/internal/jsonwalk"
)

// record is an object of the document, or a choice of some.
type record struct {
	name, doc string
	fields    []field
	choices   []string // of a choice: the records that it may be
}

// field is a member of a record.
type field struct {
	name, doc string
	required  bool
	shape
}

// shape is the set of values that a value may have.
type shape struct {
	kind     kind
	nullable bool
	record   string   // of an object: the record that it is
	elem     *shape   // of a list
	values   []string // of a text: all its values, if they distinguish records
	hasZero  bool     // the empty text, or the number 0, is a value
}

// kind is the kind of a value.
type kind string

const (
	text    kind = "text"
	integer kind = "integer"
	number  kind = "number"
	boolean kind = "boolean"
	list    kind = "list"
	object  kind = "object"
	nothing kind = "null"
	free    kind = "anything"
)

// schemas has the records of a document, each after its name was first needed.
type schemas struct {
	components jsonwalk.Value
	records    []*record
	byName     map[string]*record
	operations []operation
	problems   []error
}

// operation is one that a client calls: a GET, or a batch of the live surface.
type operation struct {
	id, path, summary string
	answer            string // the record of its response, empty for a response that is no record
	bound             int64  // of a batch: how many ids it takes
}

// readSchemas reads all records of a document, and one for the query of each operation.
func readSchemas(document []byte) (*schemas, error) {
	root, err := jsonwalk.Parse(document)
	if err != nil {
		return nil, fmt.Errorf("cannot read the OpenAPI document: %w", err)
	}

	s := &schemas{components: root.Member("components"), byName: map[string]*record{}}
	for name, schema := range s.components.Member("schemas").Members() {
		// A choice between the surfaces is no type: each surface has its own.
		if schema.Member("oneOf") != nil && schema.Member("discriminator") == nil {
			continue
		}
		s.shape(schema, strings.TrimSuffix(name.Text(), "OrNull"))
	}

	for path, methods := range root.Member("paths").Members() {
		if !strings.HasPrefix(path.Text(), "/v1/") {
			continue
		}
		if get := methods.Member("get"); get != nil {
			s.query(get)
			s.operations = append(s.operations, s.operation(path.Text(), get))
		}
		if post := methods.Member("post"); post != nil {
			s.batch(path.Text(), post)
		}
	}
	return s, errors.Join(s.problems...)
}

// operation reads the response of an operation.
func (s *schemas) operation(path string, of jsonwalk.Value) operation {
	made := operation{id: of.Member("operationId").Text(), path: path, summary: of.Member("summary").Text()}
	content := of.Member("responses").Member("200").Member("content").Member("application/json")
	if schema := content.Member("schema"); schema != nil {
		made.answer = s.surfaceOf(schema)
	}
	return made
}

// batch adds an operation that takes lists of ids.
func (s *schemas) batch(path string, of jsonwalk.Value) {
	schema := of.Member("requestBody").Member("content").Member("application/json").Member("schema")
	request := s.component("schemas", "#/components/schemas/"+s.surfaceOf(schema))
	bound, ok := request.Member("properties").Member("ids").Member("maxItems").Integer()
	if !ok {
		return
	}
	made := s.operation(path, of)
	made.bound = bound
	s.operations = append(s.operations, made)
}

// surfaceOf returns the name of the record that a reference means, of two that of the live surface,
// which is the first.
func (s *schemas) surfaceOf(schema jsonwalk.Value) string {
	target := schema.Member("$ref").Text()
	for choice := range s.component("schemas", target).Member("oneOf").Elements() {
		return s.surfaceOf(choice)
	}
	return target[strings.LastIndexByte(target, '/')+1:]
}

// query adds a record for the query of an operation, if it takes any parameters there.
func (s *schemas) query(operation jsonwalk.Value) {
	made := &record{name: camel(operation.Member("operationId").Text()) + "Params"}
	for parameter := range operation.Member("parameters").Elements() {
		if reference := parameter.Member("$ref"); reference != nil {
			parameter = s.component("parameters", reference.Text())
		}
		if !parameter.Member("in").Is("query") {
			continue
		}

		made.fields = append(made.fields, field{
			name: parameter.Member("name").Text(), doc: description(parameter),
			required: isTrue(parameter.Member("required")),
			shape:    s.shape(parameter.Member("schema"), ""),
		})
	}

	if len(made.fields) > 0 {
		made.doc = "The query of `" + operation.Member("operationId").Text() + "`."
		s.add(made)
	}
}

// shape returns the shape of a schema. name is the name of its record, if it is an object.
func (s *schemas) shape(schema jsonwalk.Value, name string) shape {
	if reference := schema.Member("$ref"); reference != nil {
		target := reference.Text()
		base := target[strings.LastIndexByte(target, '/')+1:]
		return s.shape(s.component("schemas", target), strings.TrimSuffix(base, "OrNull"))
	}
	for only := range schema.Member("allOf").Elements() {
		return s.shape(only, name)
	}
	if either := schema.Member("anyOf"); either != nil && schema.Member("type") == nil {
		return s.orNull(either, name)
	}
	if choices := schema.Member("oneOf"); choices != nil {
		return s.choice(schema, choices, name)
	}

	made := shape{values: values(schema)}
	made.kind, made.nullable = s.kind(schema)
	switch made.kind {
	case text:
		made.hasZero = schema.Member("minLength") == nil && schema.Member("pattern") == nil &&
			schema.Member("enum") == nil && schema.Member("const") == nil
	case integer, number:
		from, ok := schema.Member("minimum").Integer()
		made.hasZero = (!ok || from <= 0) && schema.Member("enum") == nil
	case boolean:
		made.hasZero = true
	case list:
		elem := s.shape(schema.Member("items"), singular(name))
		made.elem = &elem
	case object:
		if schema.Member("properties") == nil {
			made.kind = free
			break
		}
		made.record = name
		s.object(schema, name)
	default: // nothing is known of the others but their kind
	}
	return made
}

// orNull returns the shape of the only alternative that is not null.
func (s *schemas) orNull(alternatives jsonwalk.Value, name string) shape {
	var made shape
	nullable := false
	for alternative := range alternatives.Elements() {
		if alternative.Member("type").Is("null") {
			nullable = true
			continue
		}
		made = s.shape(alternative, name)
	}
	made.nullable = nullable
	return made
}

// choice adds a record that is one of several, distinguished by a member.
func (s *schemas) choice(schema, choices jsonwalk.Value, name string) shape {
	made := shape{kind: object, record: name}
	if s.byName[name] != nil {
		return made
	}

	union := &record{name: name, doc: description(schema)}
	for alternative := range choices.Elements() {
		union.choices = append(union.choices, s.shape(alternative, "").record)
	}
	s.add(union)
	return made
}

// object adds the record of an object, once.
func (s *schemas) object(schema jsonwalk.Value, name string) {
	if s.byName[name] != nil {
		return
	}

	made := &record{name: name, doc: description(schema)}
	s.byName[name] = made // before its members, which may be of its own type
	var required []string
	for member := range schema.Member("required").Elements() {
		required = append(required, member.Text())
	}
	for member, property := range schema.Member("properties").Members() {
		made.fields = append(made.fields, field{
			name: member.Text(), doc: description(property),
			required: slices.Contains(required, member.Text()),
			shape:    s.shape(property, name+camel(member.Text())),
		})
	}
	s.records = append(s.records, made)
}

func (s *schemas) add(made *record) {
	if s.byName[made.name] != nil {
		s.problems = append(s.problems, fmt.Errorf("cannot give two records the name %s", made.name))
		return
	}
	s.byName[made.name] = made
	s.records = append(s.records, made)
}

// component returns the target of a reference.
func (s *schemas) component(section, reference string) jsonwalk.Value {
	name := strings.TrimPrefix(reference, "#/components/"+section+"/")
	found := s.components.Member(section).Member(name)
	if found == nil {
		s.problems = append(s.problems, fmt.Errorf("cannot find %s", reference))
	}
	return found
}

// kind returns the kind of a schema, and whether it may be null.
func (s *schemas) kind(schema jsonwalk.Value) (kind, bool) {
	types := []string{}
	of := schema.Member("type")
	if of.Kind() == '"' {
		types = append(types, of.Text())
	}
	for one := range of.Elements() {
		types = append(types, one.Text())
	}

	nullable := len(types) > 1 && slices.Contains(types, "null")
	if nullable {
		types = slices.DeleteFunc(types, func(t string) bool { return t == "null" })
	}
	kinds := map[string]kind{
		"string": text, "integer": integer, "number": number, "boolean": boolean,
		"array": list, "object": object, "null": nothing,
	}
	// Two kinds of value have no common type but that of all values.
	if len(types) != 1 || kinds[types[0]] == "" {
		return free, nullable
	}
	return kinds[types[0]], nullable
}

// values returns the texts that a schema lists.
func values(schema jsonwalk.Value) []string {
	var all []string
	if only := schema.Member("const"); only.Kind() == '"' {
		all = append(all, only.Text())
	}
	for one := range schema.Member("enum").Elements() {
		if one.Kind() == '"' {
			all = append(all, one.Text())
		}
	}
	return all
}

// description returns the description of a schema, if it has one.
func description(schema jsonwalk.Value) string {
	if said := schema.Member("description"); said != nil {
		return said.Text()
	}
	return ""
}

func isTrue(value jsonwalk.Value) bool { return string(value) == "true" }

// singular names the record of a list's entries, which the document has not named.
func singular(name string) string { return strings.TrimSuffix(name, "s") }

// merged returns the members that the records of a choice have together. One that not all of them
// have is optional, and one that is null in some may be null.
func (s *schemas) merged(union *record) []field {
	var all []field
	for n, choice := range union.choices {
		seen := map[string]bool{}

		for _, f := range s.byName[choice].fields {
			seen[f.name] = true
			at := slices.IndexFunc(all, func(have field) bool { return have.name == f.name })
			if at < 0 {
				f.required = f.required && n == 0
				all = append(all, f)
				continue
			}
			all[at].required = all[at].required && f.required
			all[at].shape = s.either(all[at].shape, f.shape, union.name+camel(f.name))
		}
		// Members that an earlier record has and this one lacks.
		for at := range all {
			all[at].required = all[at].required && seen[all[at].name]
		}
	}
	return all
}

// either returns a shape that has the values of two. Two records become a new one of that name.
func (s *schemas) either(a, b shape, name string) shape {
	nullable := a.nullable || b.nullable || a.kind == nothing || b.kind == nothing

	switch {
	case a.kind == nothing:
		a = b
	case b.kind == nothing:
	case a.kind != b.kind:
		a = shape{kind: free}
	case a.kind == object && a.record != b.record:
		if s.byName[name] == nil {
			s.add(&record{name: name, choices: []string{a.record, b.record}})
		}
		a = shape{kind: object, record: name}
	}
	a.nullable = nullable
	a.hasZero = a.hasZero || b.hasZero
	a.values = nil
	return a
}

// camel makes the name of a type or a member of Go: card_prices becomes CardPrices.
func camel(name string) string {
	var made strings.Builder
	for word := range strings.SplitSeq(name, "_") {
		switch word {
		case "id", "url", "sha256":
			made.WriteString(strings.ToUpper(word))
		case "ids":
			made.WriteString("IDs")
		case "":
		default:
			made.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return made.String()
}

// wrapped breaks a text into lines of at most width bytes.
func wrapped(words string, width int) []string {
	var lines []string
	row := ""

	for word := range strings.FieldsSeq(words) {
		if row != "" && len(row)+1+len(word) > width {
			lines = append(lines, row)
			row = ""
		}
		if row != "" {
			row += " "
		}
		row += word
	}
	if row != "" {
		lines = append(lines, row)
	}
	return lines
}
