package valuation

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ninepocket/cardvocab"
)

// reread returns another reading of a line that no card matches. It removes chat, corrects digits
// that a scanner mistook for letters, and writes spoken numbers as digits and other names as names
// (docs/VALUATION.md, Words of a line). It is false if nothing changes.
func (a *Appraiser) reread(f *parsedLine) (*Item, bool) {
	if !f.item.onlyLine || f.item.reread || len(f.item.Line) > maxLetters {
		return nil, false
	}

	item := *f.item
	item.reread = true
	item.unreadCells = ""
	text := saysNothing.ReplaceAllString(withoutPrices(item.Line), " ")
	var words []string
	for cell := range strings.SplitSeq(cellSigns.ReplaceAllString(text, "|"), "|") {
		cell = strings.TrimSpace(counted.ReplaceAllString(cell, "${1}x"))
		if cardvocab.IsInteger(cell) && len(cell) <= 2 && f.item.Quantity == 0 && fullNumber.MatchString(text) {
			cell += "x"
		}
		words = append(words, strings.Fields(cell)...)
	}

	words = spokenNumbers(words)
	for i, w := range words {
		words[i] = a.lookup.withoutMisread(w)
		if strings.EqualFold(w, "vee") {
			words[i] = "V"
		}
	}
	words = a.lookup.withAliases(&item, words)
	words = slices.DeleteFunc(words, func(w string) bool {
		return chatter[cardvocab.Fold(w)] || strings.ContainsFunc(w, isEmoji)
	})

	item.Name = ""
	item.Set = ""
	item.Number = ""
	for _, w := range words {
		if isCopies(w) && item.Quantity == 0 {
			item.readQuantity(w)
		} else {
			item.Name += " " + w
		}
	}
	item.Name = strings.TrimSpace(item.Name)
	item.fromRow = false
	if item.Name == "" || strings.EqualFold(item.Name, f.item.Name) {
		return nil, false
	}
	a.item = item
	return &a.item, true
}

// byReread handles a line as reread has it. The card's number is required there: a misread name,
// or a name in another language, is not certain.
func (a *Appraiser) byReread(r *Result, item *Item) {
	f := a.readAs(item, 0)
	if len(f.words) == 0 && f.plain {
		r.reject("no card has this name")
		return
	}
	a.byName(r, f)
	if r.Card < 0 {
		r.Remark = joinSentences(item.remark, r.Remark)
	}
}

// spaced returns some words as a client wrote them, with a space between them.
func spaced(words []word) string {
	var text []string
	for i := range words {
		text = append(text, words[i].raw)
	}
	return strings.Join(text, " ")
}

var (
	// cellSigns part the cells of a line that is no row of an app.
	cellSigns = regexp.MustCompile(`[|;,]|\s[/–—-]\s`)
	// counted is a quantity with its word after it: "qty: 3".
	counted = regexp.MustCompile(`(?i)\b(?:qty|quantity):?\s*([0-9]{1,4})\b`)
	// saysNothing are phrases that do not change the card: the plain card's art, "go for".
	saysNothing = regexp.MustCompile(`(?i)\b(?:(?:normal|regular|reg|standard|base)\s+art|the\s+normal\s+one|` +
		`go(?:es|ing|ne)?\s+for|worth\s+grading)\b`)
	// fullNumber is a collector number that is no quantity.
	fullNumber = regexp.MustCompile(`[0-9]/[A-Za-z]*[0-9]|[A-Za-z][0-9]+-[0-9]`)
)

//go:embed chatter.txt
var chatterText string

// chatter are the words of messages that do not describe the card.
var chatter = func() map[string]bool {
	all := map[string]bool{}
	for w := range strings.FieldsSeq(chatterText) {
		all[w] = true
	}
	return all
}()

// isEmoji reports whether a character is a picture of a message, but no flag.
func isEmoji(r rune) bool { return '\U0001F300' <= r && r <= '\U0001FAFF' }

// Letters that scanners take for digits, and digits for letters.
var (
	toDigits = strings.NewReplacer(
		"O", "0", "o", "0", "Q", "0", "I", "1", "l", "1", "i", "1", "Z", "2", "S", "5", "s", "5", "B", "8")
	toLetters = strings.NewReplacer("0", "O", "1", "I", "5", "S", "8", "B", "6", "G")
	inName    = strings.NewReplacer("0", "o", "1", "l", "5", "s", "8", "b", "6", "g", "I", "l")
)

// withoutMisread returns a word with the digits of a number and the letters of a name that a scanner
// mistook. A word that the catalog knows stays.
func (cs catalogLookup) withoutMisread(w string) string {
	trimmed := strings.Trim(w, "#()[],.:?!")
	folded := cardvocab.Fold(trimmed)
	_, known := cs.view.Index.Lookup().TermID(folded)
	if known || isOrdinal(trimmed) || isCopies(trimmed) || isVersion(trimmed) || isGluedGrade(folded) ||
		len(cs.numbered(trimmed)) > 0 || len(cs.view.Index.SetNames().Exact(folded)) > 0 {
		return w
	}

	at := strings.IndexAny(trimmed, "/-")
	hasDigit := strings.ContainsAny(trimmed, "0123456789")
	if at <= 0 {
		letters := strings.Trim(trimmed, "0123456789")
		if hasDigit && len(letters) > 1 && len(folded) == len(trimmed) || len(letters) > 3 &&
			strings.Contains(letters[1:], "I") && letters != strings.ToUpper(letters) {
			return inName.Replace(trimmed)
		}
		return w
	}

	for n := range min(at, maxPrefixLen) {
		head := toLetters.Replace(trimmed[:n]) + toDigits.Replace(trimmed[n:at])
		rest := trimmed[at+1:]
		tail := toDigits.Replace(rest)
		if trimmed[at] == '/' && n > 0 && n < len(rest) {
			tail = toLetters.Replace(rest[:n]) + toDigits.Replace(rest[n:])
		}
		if number := head + trimmed[at:at+1] + tail; hasDigit && len(cs.numbered(number)) > 0 {
			return number
		}
	}
	return w
}

// maxAliasWords is the maximum number of words of another name.
const maxAliasWords = 3

// withAliases replaces other names by the cards' names, and reports this.
func (cs catalogLookup) withAliases(item *Item, words []string) (all []string) {
	for i := 0; i < len(words); i++ {
		n := min(maxAliasWords, len(words)-i)
		for ; n > 0; n-- {
			phrase := strings.Join(words[i:i+n], " ")
			folded := cardvocab.Fold(phrase)
			meant, isTranslated := cs.view.Index.Lookup().Alias(folded)
			_, known := cs.view.Index.Lookup().TermID(folded)
			sets := cs.view.Index.SetNames().ByAppCode(folded)
			if n == 1 && !known && len(sets) == 1 && !cardvocab.IsInteger(folded) {
				meant = cs.view.Catalog.Sets.Name.At(int(sets[0]))
				all = append(all, strings.Fields(meant)...)
				break
			}
			if known || meant == "" || len(cs.view.Index.SetNames().Exact(folded)) > 0 {
				continue
			}

			all = append(all, strings.Fields(meant)...)
			switch {
			case isTranslated:
				item.translated = clip(phrase)
				item.addRemark(clip(phrase) + " is " + meant + "; copies in another language have no price here")
			case !strings.ContainsAny(meant, "0123456789") && !strings.Contains(cardvocab.Fold(meant), folded):
				item.addRemark(clip(phrase) + " is " + meant)
			}
			break
		}
		if n == 0 {
			all = append(all, words[i])
			continue
		}
		i += n - 1
	}
	return all
}

// spokenValues are the words of numbers.
var spokenValues = func() map[string]int {
	all := map[string]int{"oh": 0, "hundred": 100}
	for value, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve " +
		"thirteen fourteen fifteen sixteen seventeen eighteen nineteen") {
		all[w] = value
	}
	for tens, w := range strings.Fields("twenty thirty forty fifty sixty seventy eighty ninety") {
		all[w] = 10 * (tens + 2)
	}
	return all
}()

// spokenNumbers writes spoken numbers as digits: "four of one oh two" becomes 4/102, "o p five dash
// sixty" becomes OP05-060. Other number words stay.
func spokenNumbers(words []string) (all []string) {
	for i := 0; i < len(words); {
		number, n := spokenNumber(words[i:])
		value, count := spokenInteger(words[i:])
		switch {
		case n > 0 || count == 0:
		case i > 0 && slices.Contains(beforeNumbers, strings.ToLower(words[i-1])):
			number = strconv.Itoa(value)
			n = count
		case i+count < len(words) && strings.HasPrefix(strings.ToLower(words[i+count]), "cop"):
			number = strconv.Itoa(value) + "x"
			n = count + 1
		}
		if n == 0 {
			number = words[i]
			n = 1
		}
		all = append(all, number)
		i += n
	}

	return all
}

// beforeNumbers are words of sets that have numbers: "base set two".
var beforeNumbers = []string{"set", "deck", "series"}

// spokenCodes are the codes at the start of One Piece numbers, in a speaker's words.
var spokenCodes = map[string]string{"op": "OP", "opee": "OP", "ohpee": "OP", "eb": "EB", "st": "ST"}

// spokenNumber reads the spoken number that some words begin with, and returns how many words it has.
func spokenNumber(words []string) (number string, n int) {
	code := ""
	for k := min(2, len(words)); k > 0 && code == ""; k-- {
		code = spokenCodes[strings.ToLower(strings.Join(words[:k], ""))]
		n = k
	}
	if code == "" {
		n = 0
		if strings.EqualFold(words[0], "number") {
			n = 1
		}
	}

	head, count := spokenInteger(words[n:])
	if count == 0 {
		return "", 0
	}
	n += count
	behind := 0
	for behind < 2 && n+behind < len(words) && slices.Contains(spokenSigns, strings.ToLower(words[n+behind])) {
		behind++
	}
	tail, more := spokenInteger(words[n+behind:])

	switch {
	case code != "" && behind > 0 && more > 0:
		return fmt.Sprintf("%s%02d-%03d", code, head, tail), n + behind + more
	case code != "" && head >= 100:
		return fmt.Sprintf("%s%02d-%03d", code, head/100, head%100), n
	case code == "" && behind > 0 && more > 0:
		return strconv.Itoa(head) + "/" + strconv.Itoa(tail), n + behind + more
	case code == "" && strings.EqualFold(words[0], "number"):
		return "#" + strconv.Itoa(head), n
	}
	return "", 0
}

// spokenSigns are the slash and the dash of a number.
var spokenSigns = []string{"of", "out", "slash", "over", "dash"}

// spokenInteger reads an integer from words or digits: "one hundred and two", "one oh two", "one
// thirty".
func spokenInteger(words []string) (value, n int) {
	last := -1
	for n < len(words) {
		w := strings.ToLower(words[n])
		said, ok := spokenValues[w]
		switch {
		case n == 0 && w == "a" && len(words) > 1 && strings.EqualFold(words[1], "hundred"):
			value = 1
		case n > 0 && w == "and" && last == 100:
		case !ok:
			return value, n
		case said == 100:
			value *= 100
			last = 100
		case last == 100, last >= 20 && said < 10:
			value += said
			last = said
		case said < 10:
			value = 10*value + said
			last = said
		default:
			value = 100*value + said
			last = said
		}
		n++
	}

	return value, n
}
