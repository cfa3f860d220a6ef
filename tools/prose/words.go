package main

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"
)

//go:embed words.txt
var wordList string

// phrase is an entry of words.txt.
type phrase struct {
	pattern, except *regexp.Regexp // except is nil, or what to leave out
	write           string         // the replacement
	catches, passes string         // a sentence with the phrase, and one without
}

// phrases returns the entries of words.txt: four lines each, and an empty one between them. A phrase
// between slashes is a regular expression.
var phrases = sync.OnceValue(func() []phrase {
	var list []phrase
	for entry := range strings.SplitSeq(strings.TrimSpace(wordList), "\n\n") {
		lines := strings.Split(entry, "\n")
		if strings.HasPrefix(lines[0], "#") {
			continue
		}
		if len(lines) < 4 || len(lines) > 5 {
			panic(fmt.Sprintf("cannot read the entry %q of words.txt: want four or five lines", entry))
		}

		expression := regexp.QuoteMeta(lines[0])
		if inner, ok := strings.CutPrefix(lines[0], "/"); ok {
			expression = strings.TrimSuffix(inner, "/")
		}
		p := phrase{
			pattern: regexp.MustCompile(`(?i)\b(?:` + expression + `)\b`),
			write:   strings.TrimPrefix(lines[1], "write: "),
			catches: strings.TrimPrefix(lines[2], "catches: "),
			passes:  strings.TrimPrefix(lines[3], "passes: "),
		}
		if len(lines) == 5 {
			p.except = regexp.MustCompile(`(?i)` + strings.TrimPrefix(lines[4], "except: "))
		}
		list = append(list, p)
	}
	return list
})

// findPhrases names the phrases of words.txt in a sentence, and the words to write for them.
func findPhrases(sentence string) []string {
	var found []string
	for _, p := range phrases() {
		rest := sentence
		if p.except != nil {
			rest = p.except.ReplaceAllString(sentence, "")
		}
		for _, match := range p.pattern.FindAllString(rest, -1) {
			found = append(found, fmt.Sprintf("%q: write %s", match, p.write))
		}
	}
	return found
}
