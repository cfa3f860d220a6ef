package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"ninepocket/internal/fixture"
	"ninepocket/internal/testsweep"
)

// schema is the part of JSON Schema that the input schemas use.
type schema struct {
	Type                 typeNames
	AnyOf                []*schema
	Properties           map[string]*schema
	Required             []string
	Items                *schema
	Enum                 []string
	Format               string
	MinLength, MaxLength int
	Minimum, Maximum     int64
	MinItems, MaxItems   int
}

// typeNames are the types of a schema: a name, or a list of names.
type typeNames []string

func (names *typeNames) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		return json.Unmarshal(raw, (*[]string)(names))
	}
	*names = typeNames{""}
	return json.Unmarshal(raw, &(*names)[0])
}

func (s *schema) is(name string) bool { return slices.Contains(s.Type, name) }

// guesser makes values that a schema may or may not accept, mostly near its bounds.
type guesser struct{ *rand.Rand }

func (g guesser) one(of ...string) string { return of[g.IntN(len(of))] }

// value makes JSON text for a schema, wrong in about one of eight places.
func (g guesser) value(s *schema) string {
	if g.IntN(24) == 0 {
		return g.one(`null`, `true`, `{}`, `[]`, `""`, `"x"`, `0`, `1.5`, `[1]`, `{"a":1}`)
	}

	switch {
	case s.AnyOf != nil:
		return g.value(s.AnyOf[g.IntN(len(s.AnyOf))])
	case s.is("object"):
		return g.object(s)
	case s.is("array"):
		n := g.near(int64(s.MinItems), int64(s.MaxItems))
		if n > 3 && g.IntN(4) > 0 {
			n = 1 + n%3
		}
		items := make([]string, max(n, 0))
		for i := range items {
			items[i] = g.value(s.Items)
		}
		return "[" + strings.Join(items, ",") + "]"
	case len(s.Type) == 1 && s.is("integer"):
		return g.integer(s)
	}

	if s.Enum != nil {
		return quote(g.one(append(s.Enum, "x", strings.ToUpper(s.Enum[0]))...))
	}
	if s.Format == "date" {
		return quote(g.one("2024-02-29", "2023-02-29", "1999-01-09", "2024", "2024-1-1", "2024-13-01", "yesterday", ""))
	}
	limit := s.MaxLength
	if limit > 1000 {
		limit = 300 // a text of several lines, each with its own bound
	}
	return quote(g.text(int(g.near(int64(s.MinLength), int64(limit)))))
}

// near returns a number within the bounds, at them, or just beyond.
func (g guesser) near(lo, hi int64) int64 {
	switch g.IntN(8) {
	case 0:
		return lo - 1
	case 1:
		return lo
	case 2:
		return hi
	case 3:
		return hi + 1
	}
	return lo + g.Int64N(min(hi-lo, 30)+1)
}

func (g guesser) integer(s *schema) string {
	n := g.near(s.Minimum, s.Maximum)
	switch g.IntN(10) {
	case 0:
		return fmt.Sprintf("%d.0", n)
	case 1:
		return fmt.Sprintf("%d.5", n)
	case 2:
		return fmt.Sprintf("%de0", n)
	case 3:
		if n != 0 {
			return fmt.Sprintf("%d0e-1", n)
		}
	case 4:
		return g.one("-0", "1e30", "-1e30", "1e-3", "9007199254740993", `"5"`)
	}

	return fmt.Sprint(n)
}

func (g guesser) text(n int) string {
	alphabet := []rune(`abc XYZ 019 é ☆ 😀 " \ / - _ ö`)
	out := make([]rune, max(n, 0))
	for i := range out {
		out[i] = alphabet[g.IntN(len(alphabet))]
	}
	return string(out)
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func (g guesser) object(s *schema) string {
	var members []string
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		chance := 3
		if slices.Contains(s.Required, name) {
			chance = 12
		}
		if g.IntN(chance) > 0 && (chance == 12 || g.IntN(2) > 0) {
			members = append(members, quote(name)+":"+g.value(s.Properties[name]))
		}
	}

	if g.IntN(12) == 0 {
		members = append(members, quote(g.one("colour", "Limit", "id ", ""))+":1")
	}
	g.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] }) // air: a swap
	return "{" + strings.Join(members, ",") + "}"
}

// crossField are the rules that a schema cannot express, by the text of their problems.
var crossField = []string{
	"give a query, a filter (set, number, rarity, game, a price) or a sort.",
	"query must not be blank.",
	"min_price_cents must not be more than max_price_cents.",
	"cursor is not one that this service issued",
	"released_from must not be later than released_to.",
	"give cards or text, with 1 to 50 lines together.",
}

// rejected returns the problems of a result that a schema could express, those of single lines too.
func rejected(tb testing.TB, r *result) (problems []string) {
	tb.Helper()
	if !r.IsError {
		var v valuation
		r.decode(tb, &v)
		for _, line := range v.Lines {
			if strings.HasPrefix(line.Message, "not read: ") {
				problems = append(problems, line.Message)
			}
		}
		return problems
	}

	if !strings.HasPrefix(r.text(), "Invalid arguments for ") {
		return nil
	}
	for line := range strings.Lines(r.text()) {
		problem, ok := strings.CutPrefix(strings.TrimSpace(line), "- ")
		if ok && !slices.ContainsFunc(crossField, func(rule string) bool { return strings.HasPrefix(problem, rule) }) {
			problems = append(problems, problem)
		}
	}
	return problems
}

// asRead returns a value as the binder reads it. A member that is null or "" is absent. An integer may
// stand for a text, and digits for an integer. A null in an array stays.
func asRead(tb testing.TB, s *schema, raw json.RawMessage) json.RawMessage {
	tb.Helper()
	var members map[string]json.RawMessage
	var list []json.RawMessage
	var out any
	switch {
	case s == nil:
		return raw
	case s.AnyOf != nil && raw[0] == '{':
		return asRead(tb, s.AnyOf[1], raw)
	case s.is("string") && integerText.Match(raw):
		return json.RawMessage(`"` + string(raw) + `"`)
	case len(s.Type) == 1 && s.is("integer") && digitsText.Match(raw):
		return json.RawMessage(strings.TrimLeft(strings.Trim(string(raw), `"`), "0") + ".0")
	case json.Unmarshal(raw, &members) == nil && members != nil:
		for name, value := range members {
			members[name] = asRead(tb, s.Properties[name], value)
			if string(value) == "null" || string(value) == `""` {
				delete(members, name)
			}
		}
		out = members
	case json.Unmarshal(raw, &list) == nil && list != nil:
		for i := range list {
			list[i] = asRead(tb, s.Items, list[i])
		}
		out = list
	default:
		return raw
	}

	text, err := json.Marshal(out)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

var (
	integerText = regexp.MustCompile(`^-?[0-9]+(\.0)?(e0)?$`)
	digitsText  = regexp.MustCompile(`^"[0-9]+"$`)
)

// TestBinderAgreesWithSchemas compares the binder with two independent validators. It must accept
// and reject the same arguments as they do, except for the rules of crossField. For the binder
// alone, null and "" mean absent.
func TestBinderAgreesWithSchemas(t *testing.T) {
	d, _ := randomDesk(t, 3, fixture.Small)
	each := 2500 / testsweep.Stride(8)
	second := newAJV(t)
	for k, def := range definitions() {
		t.Run(def.Name, func(t *testing.T) {
			var s schema
			if err := json.Unmarshal(def.InputSchema, &s); err != nil {
				t.Fatal(err)
			}

			g := guesser{rand.New(rand.NewPCG(5, uint64(k)))}
			values := make([]string, each)
			accepted := 0
			for i := range values {
				values[i] = g.object(&s)
				want := validates(t, inputSchema(t, def.Name), string(asRead(t, &s, json.RawMessage(values[i]))))
				r := d.callRaw(t, def.Name, values[i])
				if problems := rejected(t, &r); (len(problems) == 0) != want {
					t.Fatalf("%.600s\nschema: %t, binder: %q", values[i], want, problems)
				}
				if want {
					accepted++
				}
			}

			if accepted < each/20 || accepted > each*19/20 {
				t.Errorf("%d of %d accepted: the values do not try both sides", accepted, each)
			}

			second.agree(t, def, values)
		})
	}
}

func validates(tb testing.TB, s *jsonschema.Schema, text string) bool {
	tb.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		tb.Fatalf("%v: %.600s", err, text)
	}
	return s.Validate(v) == nil
}

// ajv is AJV in Node, nil if it is not installed.
type ajv struct{ dir, node string }

func newAJV(t *testing.T) *ajv {
	t.Helper()
	const dir = "conformance"
	node, err := exec.LookPath("node")
	if _, notThere := os.Stat(filepath.Join(dir, "node_modules", "ajv")); err != nil || notThere != nil {
		t.Log("skipped: AJV as the second validator, because `make mcp-conformance` did not install it")
		return nil
	}
	return &ajv{dir, node}
}

// agree compares AJV, with draft-07 and with 2020-12, with the first validator.
func (a *ajv) agree(t *testing.T, def definition, values []string) {
	t.Helper()
	if a == nil {
		return
	}

	request, err := json.Marshal(map[string]any{"schema": def.InputSchema, "values": values})
	if err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), a.node, "validate.mjs")
	cmd.Dir = a.dir
	cmd.Stdin = bytes.NewReader(append(request, '\n'))
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, errors.String())
	}

	var answers []bool
	if err := json.NewDecoder(bufio.NewReader(bytes.NewReader(out))).Decode(&answers); err != nil ||
		len(answers) != len(values) {
		t.Fatalf("%v: %d answers for %d values", err, len(answers), len(values))
	}

	for i, said := range answers {
		if want := validates(t, inputSchema(t, def.Name), values[i]); said != want {
			t.Fatalf("%.600s\nfirst validator: %t, AJV: %t", values[i], want, said)
		}
	}
}

// TestCrossFieldRules checks the rules that schemas cannot express.
func TestCrossFieldRules(t *testing.T) {
	d, _ := randomDesk(t, 3, fixture.Small)
	f := func(arguments, want string) {
		t.Helper()
		r := d.callRaw(t, "catalog_search_cards", arguments)
		if !r.IsError || !strings.Contains(r.text(), "- "+want) {
			t.Errorf("%s: %s", arguments, r.text())
		}
	}

	f(`{}`, crossField[0])
	f(`{"limit":3,"query":null,"game":null}`, crossField[0])
	f(`{"query":"  "}`, crossField[1])
	f(`{"query":"x","min_price_cents":2,"max_price_cents":1}`, crossField[2])
	f(`{"query":"x","cursor":"AAAA"}`, crossField[3])
	f(`{"query":"a\u0000b"}`, "query must not have control characters.")
	f(`{"query":"a\u007fb","set":"\n"}`, "set must not have control characters.")
}
