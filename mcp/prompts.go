package mcp

import (
	"strings"

	"ninepocket/wire"
)

// prompt is a request that a person starts by its name; a client asks for its one argument, which ends
// the text.
type prompt struct{ name, title, description, argument, about, text string }

var prompts = []prompt{
	{
		"value-my-list", "Value my list", "The worth of a list of cards, with its uncertain parts.",
		"list", "The cards as you have them, one a line.",
		"Value these cards. Pass the list unchanged as text to catalog_value_cards, 50 lines a call. Give the total, " +
			"its assumed part, and the day of the prices. For each line that is not priced, show its " +
			"candidates and ask me which one I mean, then call again with that id. Never guess a price.\n\n",
	},
	{
		"compare-printings", "Compare printings", "All printings of a card with their prices.",
		"card", `The name of the card, e.g. "Charizard ex".`,
		"Find all printings of this card with catalog_search_cards (limit 50). Compare them in a table with set, " +
			"number, variant and price, the most expensive first. Get the cheapest and the most expensive with " +
			"catalog_get_card, and say how their prices changed in 30 days. Say of which day the prices are.\n\n",
	},
}

// promptList is the end of the result of prompts/list.
var promptList = func() string {
	var all []string
	for _, defined := range prompts {
		all = append(all, `{"name":`+quoted(defined.name)+`,"title":`+quoted(defined.title)+
			`,"description":`+quoted(defined.description)+`,"arguments":[{"name":`+quoted(defined.argument)+
			`,"description":`+quoted(defined.about)+`,"required":true}]}`)
	}
	return `"prompts":[` + strings.Join(all, ",") + `]}}`
}()

// answerPrompt appends the response to prompts/get.
func (e *Endpoint) answerPrompt(dst []byte, m *Message) []byte {
	name := m.params.Member("name")
	var names []string
	for _, defined := range prompts {
		names = append(names, defined.name)
		if !name.Is(defined.name) {
			continue
		}

		var p problems
		fields := []field{required(textField(defined.argument, defined.about, listText))}
		a := bind(fields, m.params.Member("arguments"), &p)
		if p.n > 0 {
			return m.rpcError(invalidParams, "Invalid params: "+p.sentence()+".").Append(dst)
		}
		dst = wire.AppendText(e.beginResult(dst, m), `"description":`, defined.description)
		dst = append(dst, `,"messages":[{"role":"user","content":{"type":"text","text":`...)
		return append(wire.AppendString(dst, defined.text+a.text(defined.argument)), `}}]}}`...)
	}

	return m.rpcError(invalidParams, "Unknown prompt. Known: "+strings.Join(names, ", ")+".").Append(dst)
}
