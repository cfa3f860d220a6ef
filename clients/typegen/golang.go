package main

import (
	"fmt"
	"go/format"
	"strings"
)

// goHeader begins the file of Go.
const goHeader = `// Code generated from the OpenAPI document by "make generate". DO NOT EDIT.

package ninepocket

import (
	"context"
	"iter"
	"net/url"
	"strconv"
)

` + goValueOf

// goValueOf reads a pointer that may be null.
const goValueOf = `// ValueOf returns what a field has that may be null, and the zero of its type for null.
func ValueOf[T any](field *T) T {
	if field == nil {
		return *new(T)
	}
	return *field
}
`

// writeGo writes a struct for each record. These structs ignore members that a server adds
// later, so that programs of today work with later servers.
func writeGo(s *schemas) ([]byte, error) {
	var out strings.Builder
	out.WriteString(goHeader)
	// Merging may add records to the end.
	for i := 0; i < len(s.records); i++ {
		r := s.records[i]
		fields := r.fields
		if len(r.choices) > 0 {
			fields = s.merged(r)
		}

		fmt.Fprintf(&out, "\n// %s is one of the API's records", r.name)
		comment(&out, "", r.doc, ".")
		fmt.Fprintf(&out, "type %s struct {\n", r.name)
		isQuery := strings.HasSuffix(r.name, "Params")
		for _, f := range fields {
			fmt.Fprintf(&out, "\t%s %s `json:%q`", camel(f.name), goType(f), goTag(f))
			comment(&out, "\t", f.doc, "")
		}
		out.WriteString("}\n")
		if isQuery {
			goQuery(&out, r)
		}
		goPage(&out, s, r)
	}
	// A mirror has these by their ids, and a list in parts has the totals of all.
	goIdentity(&out, "CardDetail", nil)
	goSum(&out, s.byName["ValuationTotals"])
	for _, o := range s.operations {
		goOperation(&out, o, s.byName)
	}
	return format.Source([]byte(out.String()))
}

// comment writes the document's text, in comment lines after the present text.
func comment(out *strings.Builder, indent, doc, end string) {
	lines := wrapped(doc, 96)
	if len(lines) == 0 {
		out.WriteString(end + "\n")
		return
	}
	if indent == "" {
		out.WriteString(":\n")
		for _, row := range lines {
			out.WriteString("// " + row + "\n")
		}
		return
	}

	first, _, _ := strings.Cut(doc, ". ")
	first = strings.TrimSuffix(first, ".")
	if len(first) > 70 {
		first = strings.TrimRight(wrapped(first, 70)[0], " ,;:") + " …"
	}
	out.WriteString(" // " + first + "\n")
}

// goType returns the type of a member. A member that may be null is a pointer. An optional member
// is a pointer, too, unless its zero is no value of the API: then zero means absent.
func goType(f field) string {
	base := goShape(f.shape)
	if f.nullable && f.kind != list && f.kind != free {
		return "*" + base
	}
	isPointer := !f.required && (f.hasZero || f.kind == object)
	if isPointer && f.kind != list && f.kind != free {
		return "*" + base
	}
	return base
}

// goKinds has the types of values that are one kind of thing.
var goKinds = map[kind]string{
	text: "string", integer: "int64", number: "float64", boolean: "bool", nothing: "any", free: "any",
}

func goShape(of shape) string {
	switch of.kind {
	case list:
		if of.elem.nullable && of.elem.kind != free {
			return "[]*" + goShape(*of.elem)
		}
		return "[]" + goShape(*of.elem)
	case object:
		return of.record
	default:
		return goKinds[of.kind]
	}
}

func goTag(f field) string {
	if f.required {
		return f.name
	}
	return f.name + ",omitempty"
}

// goQuery writes the method that encodes a query.
func goQuery(out *strings.Builder, r *record) {
	fmt.Fprintf(out, "\nfunc (p %s) query() url.Values {\n\tq := url.Values{}\n", r.name)
	for _, f := range r.fields {
		name := "p." + camel(f.name)
		isPointer := strings.HasPrefix(goType(f), "*")
		condition := name + " != nil"
		if !isPointer {
			condition = name + map[kind]string{text: ` != ""`, integer: " != 0", number: " != 0", boolean: ""}[f.kind]
		} else {
			name = "*" + name
		}

		value := map[kind]string{
			text: name, integer: "strconv.FormatInt(" + name + ", 10)",
			number: "strconv.FormatFloat(" + name + ", 'f', -1, 64)", boolean: "strconv.FormatBool(" + name + ")",
		}[f.kind]
		fmt.Fprintf(out, "\tif %s {\n\t\tq.Set(%q, %s)\n\t}\n", condition, f.name, value)
	}
	out.WriteString("\treturn q\n}\n")
}

// goPage writes the parts of a page that pagination needs: its rows with the next cursor, and the identity of rows.
func goPage(out *strings.Builder, s *schemas, r *record) {
	for _, f := range r.fields {
		cursor := map[string]string{"next_cursor": "NextCursor", "pagination": "Pagination.NextCursor"}[f.name]
		if cursor == "" {
			continue
		}
		row := dataOf(r)
		// A page of the preview contract has its cursor in a separate record.
		if row == "" {
			continue
		}
		fmt.Fprintf(out, "\nfunc (r *%s) rows() ([]%s, *string) { return r.Data, r.%s }\n", r.name, row, cursor)
		goIdentity(out, row, s.byName[row].fields)
	}
}

// goSum writes a method that adds up numbers.
func goSum(out *strings.Builder, r *record) {
	fmt.Fprintf(out, "\nfunc (r *%[1]s) add(other *%[1]s) {\n", r.name)
	for _, f := range r.fields {
		fmt.Fprintf(out, "\tr.%[1]s += other.%[1]s\n", camel(f.name))
	}
	out.WriteString("}\n")
}

// goIdentity writes the identity of a record's rows: their id, and for changes also the lane.
func goIdentity(out *strings.Builder, name string, fields []field) {
	identity := "r.ID"
	for _, f := range fields {
		if f.name == "change" {
			identity = `r.ID + " " + r.Variant + " " + r.Condition`
		}
	}
	fmt.Fprintf(out, "\nfunc (r *%s) identity() string { return %s }\n", name, identity)
}

// goNames has the names of methods if the operation's name is none of Go.
var goNames = map[string]string{
	"games_list": "Games", "facets_list": "Facets", "suggest_list": "Suggest", "cards_search": "Cards",
	"cards_get": "Card", "card_prices": "History", "card_price_stats": "PriceStats", "sets_list": "Sets",
	"sets_get": "Set", "market_movers": "Movers", "usage_get": "Usage", "products_list": "Products",
	"products_get": "Product", "bulk_list": "Bulk", "prices_history_batch": "HistoriesBatch",
}

// byHand are the operations with handwritten methods.
var byHand = map[string]bool{"changes_list": true, "bulk_get": true}

// goOperation writes the method of an operation: a GET, or a batch of the live surface.
func goOperation(out *strings.Builder, o operation, records map[string]*record) {
	if byHand[o.id] || o.answer == "" {
		return
	}
	name := goNames[o.id]
	if name == "" {
		name = camel(o.id)
	}

	summary := strings.ToLower(o.summary[:1]) + o.summary[1:]
	fmt.Fprintf(out, "\n// %s calls the operation %s: %s.\n", name, o.id, summary)
	if o.bound > 0 {
		fmt.Fprintf(out, "func (c *Client) %s(ctx context.Context, b Batch) (*%s, error) {\n", name, o.answer)
		fmt.Fprintf(out, "\treturn joined(ctx, c, call{operation: %q, path: %q}, b, %d, func(all, got *%s) {\n",
			o.id, o.path, o.bound, o.answer)
		for _, f := range records[o.answer].fields {
			if f.name == "data" || f.name == "not_found" {
				fmt.Fprintf(out, "\t\tgot.%[1]s = append(all.%[1]s, got.%[1]s...)\n", camel(f.name))
			}
		}
		out.WriteString("\t\t*all = *got\n\t})\n}\n")
		return
	}

	signature := "ctx context.Context"
	path := fmt.Sprintf("%q", o.path)
	call := "fetch"
	if before, behind, has := strings.Cut(o.path, "{"); has {
		_, behind, _ = strings.Cut(behind, "}")
		signature += ", id string"
		path = fmt.Sprintf("%q, id, %q", before, behind)
		call = "fetchOne"
	}
	query := "nil"
	if records[camel(o.id)+"Params"] != nil {
		signature += ", p " + camel(o.id) + "Params"
		query = "p.query()"
	}
	for _, f := range records[o.answer].fields {
		// A page is not for callers, who iterate over its rows.
		if f.name == "next_cursor" || f.name == "pagination" {
			row := dataOf(records[o.answer])
			fmt.Fprintf(out, "func (c *Client) %s(%s) iter.Seq2[%s, error] {\n", name, signature, row)
			fmt.Fprintf(out, "\treturn walk[%s, %s](ctx, c, call{operation: %q, path: %s, query: %s})\n}\n",
				o.answer, row, o.id, path, query)
			return
		}
	}
	fmt.Fprintf(out, "func (c *Client) %s(%s) (*%s, error) {\n", name, signature, o.answer)
	fmt.Fprintf(out, "\treturn %s[%s](ctx, c, %q, %s, %s)\n}\n", call, o.answer, o.id, path, query)
}

// dataOf returns the type of a page's rows.
func dataOf(page *record) string {
	for _, f := range page.fields {
		if f.name == "data" {
			return goShape(*f.elem)
		}
	}
	return ""
}
