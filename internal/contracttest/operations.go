package contracttest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Operation is the declaration of one operation in the document.
type Operation struct {
	ID         string
	Method     string // GET or POST; HEAD goes with every GET
	Path       string // with {parameters}
	Surface    string
	Scope      string // required scope of a preview key, "" for none
	BothOnly   bool   // served only where both surfaces are
	Parameters []Parameter
	Statuses   []int // declared one by one, ascending; 408, 413 and 431 are possible, too
}

// Parameter is one declared parameter with its bounds; a bound that is not declared is nil.
type Parameter struct {
	Name, In             string // In is query, path or header
	Surface              string // Preview if only that surface has it
	Required             bool
	Type                 string // string, integer or number
	Minimum, Maximum     *int64
	MinLength, MaxLength *int64
	Pattern              string
	Enum                 []string // as they are written in a query
	Default              string   // "" for none
	Example              string
}

// Operations returns every operation of the document, by path and method.
func Operations() []Operation {
	d := load()
	var out []Operation
	for _, p := range d.paths {
		for method := range p.item {
			out = append(out, d.operation(p.template, method))
		}
	}

	slices.SortFunc(out, func(a, b Operation) int { return strings.Compare(a.Path+a.Method, b.Path+b.Method) })
	return out
}

func (d *document) operation(template, method string) Operation {
	n := d.at("/paths/" + escape(template) + "/" + method)
	op := Operation{
		ID: n.text("operationId"), Method: strings.ToUpper(method), Path: template, Surface: d.surface(n),
		BothOnly: n.text("x-surface") == "both",
	}
	if op.Surface == Preview {
		op.Scope = strings.Join(strings.Fields(strings.Trim(fmt.Sprint(d.at(n.pointer +
			"/security/0").object["apiKey"]), "[]")), " ")
	}

	parameters, _ := n.object["parameters"].([]any)
	for i := range parameters {
		op.Parameters = append(op.Parameters, d.parameter(d.at(n.pointer+"/parameters/"+strconv.Itoa(i))))
	}

	for _, status := range d.child(n, "responses").names() {
		if number, err := strconv.Atoi(status); err == nil {
			op.Statuses = append(op.Statuses, number)
		}
	}
	return op
}

// surface returns the surface of an operation. It is Shared if a part of the operation is marked as
// preview.
func (d *document) surface(operation node) string {
	if operation.text("x-surface") == Preview {
		return Preview
	}
	if security, is := operation.object["security"].([]any); is && len(security) == 0 {
		return Service
	}

	for _, status := range d.child(operation, "responses").names() {
		if _, is := d.child(d.child(d.child(operation, "responses"), status),
			"headers").object["X-Request-Credits-Charged"]; is {
			return Shared
		}
	}
	return Live
}

// needsPreview reports whether a server without the preview contract lacks an operation.
func (d *document) needsPreview(template, method string) bool {
	op := d.operation(template, method)
	return op.Surface == Preview || op.BothOnly
}

func (d *document) parameter(n node) Parameter {
	schema := d.child(n, "schema")
	parameter := Parameter{
		Name: n.text("name"), In: n.text("in"), Surface: n.text("x-surface"), Required: n.object["required"] == true,
		Type: schema.text("type"), Pattern: schema.text("pattern"), Default: toText(schema.object["default"]),
		Example: toText(n.object["example"]),
		Minimum: bound(schema, "minimum"), Maximum: bound(schema, "maximum"), MinLength: bound(schema, "minLength"),
		MaxLength: bound(schema, "maxLength"),
	}

	if names, is := n.object["example"].([]any); is {
		var texts []string
		for _, name := range names {
			texts = append(texts, toText(name))
		}
		parameter.Example = strings.Join(texts, ",")
	}

	values, _ := schema.object["enum"].([]any)
	for _, value := range values {
		parameter.Enum = append(parameter.Enum, toText(value))
	}
	return parameter
}

func bound(schema node, name string) *int64 {
	number, is := schema.object[name].(json.Number)
	if !is {
		return nil
	}

	value, err := number.Int64()
	if err != nil {
		return nil
	}
	return &value
}

func toText(value any) string {
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// Codes returns the error codes that the document declares for a surface, with their statuses.
func Codes(surface string) map[string]int {
	d := load()
	codes := map[string]int{}
	for _, op := range Operations() {
		responses := d.at("/paths/" + escape(op.Path) + "/" + strings.ToLower(op.Method) + "/responses")
		for _, status := range responses.names() {
			response := d.child(responses, status)
			media := d.child(d.child(response, "content"), problemType)
			if surface == Preview && (op.Surface == Preview || op.Surface == Shared) {
				media = d.child(d.child(response, "content"), jsonType)
			} else if surface == Preview {
				continue
			}

			examples := d.child(media, "examples")
			for _, name := range examples.names() {
				value := d.child(d.child(examples, name), "value")
				if surface == Preview {
					value = d.child(value, "error")
				}
				if code := value.text("code"); code != "" {
					codes[code] = statusOf(status, code)
				}
			}
		}
	}
	return codes
}

// statusOf returns the status of a response; for the default response, the error code decides.
func statusOf(declared, code string) int {
	if status, err := strconv.Atoi(declared); err == nil {
		return status
	}
	return map[string]int{
		"request_timeout": 408, "payload_too_large": 413,
		"request_header_fields_too_large": 431,
	}[code]
}
