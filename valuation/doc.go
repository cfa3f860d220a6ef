// Package valuation finds the card and the price that a line of a user's list means. It reads a
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
// ValueList sends each line of a list through the steps and on to a Sink. Each kind of response
// has a Sink.
//
// A line is priced only if it can mean one card alone: a wrong price in a total is worse than a
// question. Every question names the fields that settle the line.
package valuation
