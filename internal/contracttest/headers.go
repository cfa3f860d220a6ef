package contracttest

import (
	"encoding/json"
	"slices"
	"strings"
)

// checkHeaders checks the declared headers, and that the response has no undeclared header of the
// contract.
func (v *validation) checkHeaders() {
	headers := v.child(v.declared, "headers")
	names := headers.names()
	for _, name := range names {
		v.checkHeader(name, v.child(headers, name))
	}

	for name := range v.Header {
		_, declared := headers.object[canonical(names, name)]
		if !declared && ofContract(name, v.Header.Get(name)) {
			v.fault("header %s is not declared for this response", name)
		}
	}
	if allow := v.Header.Get("Allow"); allow != "" && !slices.IsSorted(strings.Split(allow, ", ")) {
		v.fault("header Allow is not sorted: %s", allow)
	}
}

func (v *validation) checkHeader(name string, header node) {
	values := v.Header.Values(name)
	if len(values) == 0 {
		if header.object["required"] == true || header.text("x-required-on") == v.surface {
			v.fault("header %s is missing", name)
		}
		return
	}
	if len(values) > 1 {
		v.fault("header %s comes %d times", name, len(values))
	}
	if only := header.text("x-surface"); only != "" && only != v.surface {
		v.fault("header %s belongs to the %s surface", name, only)
	}

	schema, err := v.schema(header.pointer + "/schema")
	if err != nil {
		v.fault("%w", err)
		return
	}

	value := any(values[0])
	if v.child(header, "schema").text("type") == "integer" {
		value = json.Number(values[0])
		if !decimal(values[0]) {
			v.fault("header %s is not a whole number: %q", name, values[0])
			return
		}
	}
	if err := schema.Validate(value); err != nil {
		v.fault("header %s: %w", name, err)
	}
}

// ofContract reports whether a header with a value must be declared in the document. Cache-Control
// may come with any response, and so may headers of HTTP itself. If a server has a list of origins,
// any response depends on the caller's origin.
func ofContract(name, value string) bool {
	name = strings.ToLower(name)
	return name == "etag" || name == "link" || name == "allow" || name == "retry-after" || name == "www-authenticate" ||
		name == "vary" && value != "Origin" ||
		strings.HasPrefix(name, "ratelimit") || strings.HasPrefix(name, "x-r") || name == "x-snapshot-id" ||
		name == "x-ignored-params" || name == "x-unknown-values" || name == "x-search-interpretation"
}

// canonical returns the name of a header as it is declared.
func canonical(declared []string, name string) string {
	i := slices.IndexFunc(declared, func(d string) bool { return strings.EqualFold(d, name) })
	if i < 0 {
		return name
	}
	return declared[i]
}

func decimal(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == "" && (text == "0" || text[0] != '0')
}
