package mcp

import (
	"testing"

	"ninepocket/internal/jsonwalk"
)

// TestLayout writes small layouts around one result.
func TestLayout(t *testing.T) {
	answer := jsonwalk.Value(`{"name":"Mew \"ex\"","none":null,"set":{"id":"s","name":"151"},"zero":0,"down":-150,` +
		`"price_updated_at":"2026-08-22T20:00:00Z","cents":702,"percent":-2.5,"empty":[],"names":["x","y"],` +
		`"list":[{"n":"a","of":[1,2]},{"n":"b","of":[],"at":"2026-08-02T01:02:03Z"}],"yes":true,"no":false,` +
		`"notes":[{"kind":"read_as","words":"a","as":"b","did_you_mean":["c","d"]}]}`)
	f := func(in, want string) {
		t.Helper()
		var w layoutWriter
		w.write(newLayout(in), answer)
		if string(w.text) != want {
			t.Errorf("%s is %q, want %q", in, w.text, want)
		}
	}

	f("plain", "plain")
	f("{name}|{set}|{set.id}|{none}|{gone}|{gone.id}", `Mew "ex"|151|s|||`)
	f("a[ b {name}][ c {none}][ d {gone}][ e {set.gone}]", `a b Mew "ex"`)
	f("[a[ {gone}] {name}]", `a Mew "ex"`) // a missing value inside does not count outside
	f("{cents:$} {zero:$} {none:$}[ {gone:$}]", "$7.02 $0.00 no price")
	f("{down:±$} {down:±%} {percent:±%} {cents:±$}[ {none:±$}]", "-$1.50 -150% -2.5% +$7.02")
	f("{list:card} {names:name} {zero:card}[ {zero:card}][ {empty:card}] {cents:#}", "2 cards 2 names 0 cards 702")
	f("{price_updated_at:date}", "2026-08-22")
	f("<list {#}. {n}[ of {at:own date}]/>", "1. a/2. b of 2026-08-02/")
	f(`<names", " {.}>`, "x, y")
	f(`<list"; " {n}<of"," {.}><-of none>>`, "a1,2; bnone")
	f("<set {id} {^cents:$}>", "s $7.02")
	f("<+list l><+empty e><+none n><+gone g><+zero z><+yes y><+no o><+name m>", "lym")
	f("<-list l><-empty e><-none n><-gone g><-zero z><-yes y><-no o><-name m>", "engzo")
	f(`<notes"; " {.:remark}>`, `"a" read as "b" (did you mean "c", "d"?)`)

	for _, wrong := range []string{"[a", "a]", "<list a", "a>", "<list [a>"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is a layout", wrong)
				}
			}()
			newLayout(wrong)
		}()
	}
}
