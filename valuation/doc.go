// Package valuation finds which card a line of a user's list means and what it is worth. It reads a
// View and knows neither HTTP nor MCP; docs/VALUATION.md has the rules.
//
// A line goes through four steps:
//
//	"2x Charizard ex SIR 199/165 NM"
//	  read      2 copies, charizard ex, preferably SIR,   export_row.go, words.go, parse.go
//	            number 199/165, condition NM
//	  match     the cards that have all of it             match.go
//	  decide    one is certain; of several, the one       appraise.go
//	            that is printed so; else a question       needed_fields.go, suggest.go
//	  price     the lane of its variant and condition     lane.go
//
// ValueList takes a list through them and passes each line to a Sink, of which each kind of
// response has one.
//
// A line is priced only when it can mean one card: a wrong price in a total is worse than a
// question. Every question names the fields that settle it.
package valuation
