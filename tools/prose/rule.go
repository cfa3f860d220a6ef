package main

import (
	"fmt"
	"regexp"
	"strings"
)

// criterion gives points for each match of a pattern.
type criterion struct {
	name    string
	pattern *regexp.Regexp
	limit   int // points at most
}

// criteria is the house rule for sentences but for words, commas and the glossary.
var criteria = []criterion{
	{"a clause where a noun belongs", clause, 2},
	{"refers back", regexp.MustCompile(`(?i)\b(?:so|neither|nor) ` + auxiliary + `\b` +
		`|\bthe (?:other )?ones?\b|\bof it\b|\bof (?:before|theirs|ours)\b|\bas (?:it was|they were)\b` +
		`|\bone before\b|\b(?:go|goes|gone|went) on\b|\bthe same(?:[.,;:]|$)|\bof its own\b`), 2},
	{"begins with its end", regexp.MustCompile(`^(?:What|Who|Whoever|Whatever)\b[^?]*$|^(?:Of|Where)\b.*,` +
		`|^(?:So|Nor|Neither) ` + auxiliary + `\b|^Whether\b`), 1},
	{"negates the subject", regexp.MustCompile(`(?i)\b(?:no [a-z]+|nobody|nothing) (?:can|could|says?|said|had` +
		`|knows?|tells?|takes?|asks?|reads?|gives?|waits?|sees?|hears?)\b`), 1},
}

const auxiliary = `(?:is|are|was|were|do|does|did|has|have|had|can|must)`

// clause finds "what …", and "who …" or "which …" without a noun before it. The pattern lists words before
// it that make it a noun.
var clause = regexp.MustCompile(`(?i)\bwhat(?:ever)?\b|\bwhoever\b` +
	`|(?:^|\b(?:by|for|from|of|to|with|and|or|but|is|are|says?|sees?|knows?|than|about|on|in) )who [a-z]` +
	`|(?:^|\b(?:says?|sees?|knows?|than|about) )which [a-z]`)

var (
	wordLike = regexp.MustCompile(`[\p{L}\p{N}]`)
	colons   = regexp.MustCompile(`[;:]\s`)
)

// score gives the points of a sentence and their reasons. A sentence with two points is flagged.
func score(sentence string) (points int, why []string) {
	add := func(n int, reason string) {
		points += n
		why = append(why, reason)
	}

	switch words := countWords(sentence); {
	case words > 40:
		add(2, fmt.Sprint(words, " words"))
	case words > 28:
		add(1, fmt.Sprint(words, " words"))
	}
	for _, c := range criteria {
		if found := c.pattern.FindAllString(sentence, c.limit); len(found) > 0 {
			add(len(found), fmt.Sprintf("%s: %q", c.name, found))
		}
	}
	if phrases := findPhrases(sentence); len(phrases) > 0 {
		add(min(len(phrases), 2), "private words")
	}
	if len(colons.FindAllString(sentence, -1)) >= 2 {
		add(1, "two colons or semicolons")
	}
	if strings.Count(sentence, ", ") >= 4 {
		add(1, "four commas")
	}
	return points, why
}

// countWords counts words; a code span is one.
func countWords(sentence string) int {
	n := 0
	for field := range strings.FieldsSeq(sentence) {
		if wordLike.MatchString(field) {
			n++
		}
	}
	return n
}
