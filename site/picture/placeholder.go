// Package picture draws placeholders for cards without a picture, link previews and thumbnails. It
// knows neither catalogs nor HTTP.
package picture

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The size of a placeholder, in half millimetres.
const (
	Width  = 126
	Height = 176
)

// The longest texts of a placeholder, in characters, and its lines.
const (
	lineLength   = 13
	lineCount    = 3
	numberLength = 12
	codeLength   = 6
)

// Placeholder is a drawing of a card that replaces a missing picture.
type Placeholder struct {
	Lines  [lineCount]string // of the name; "" below its end
	Number string
	Code   string // of the set
	Mark   Mark   // of the rarity
	Hue    Hue    // of the game
}

// NewPlaceholder makes the placeholder of a card; game is the number of its game.
func NewPlaceholder(name, number, rarity, code string, game int) Placeholder {
	// The mark of a card of unknown rarity is the first letter of its name.
	if rarity == "" {
		name := strings.TrimSpace(name)
		_, size := utf8.DecodeRuneInString(name)
		rarity = strings.ToUpper(name[:size])
	}

	placeholder := Placeholder{
		Number: truncate(number, numberLength), Code: truncate(code, codeLength), Mark: markOf(rarity),
		Hue: hues[game%len(hues)],
	}
	fits := func(s string) bool { return utf8.RuneCountInString(s) <= lineLength }
	copy(placeholder.Lines[:], breakLines(name, lineCount, fits))
	return placeholder
}

// Hue is the colours of a game: of the edge of its cards and of the panel within.
type Hue struct{ Edge, Panel string }

// hues differ in lightness, so that colour-blind people can distinguish them.
var hues = [...]Hue{
	{"#2a56a8", "#edf2fc"},
	{"#a33226", "#fcf0ed"},
	{"#2c6e49", "#ebf6ef"},
	{"#6b3fa0", "#f4effb"},
	{"#8a5a00", "#fbf4e3"},
	{"#3c5263", "#eef2f5"},
}

// Ink is the colour of a placeholder's texts.
const Ink = "#1b1d21"

// breakLines breaks a text into at most maxLines lines that fit. A text that does not fit ends in
// an ellipsis.
func breakLines(text string, maxLines int, fits func(string) bool) (lines []string) {
	words := strings.Fields(text)
	for i := 0; i < len(words); i++ {
		if at := splitIndex(words[i], fits); at > 0 {
			words = slices.Replace(words, i, i+1, words[i][:at], words[i][at:])
		}
	}
	for len(words) > 0 {
		taken := 1
		for taken < len(words) && fits(strings.Join(words[:taken+1], " ")) {
			taken++
		}

		// The last line has as much of the rest as it can hold.
		if len(lines) == maxLines-1 {
			taken = len(words)
		}
		line := []rune(strings.Join(words[:taken], " "))
		for cut := len(line) - 1; cut > 0 && !fits(string(line)); cut-- {
			line = append([]rune(strings.TrimSpace(string(line[:cut]))), '…')
		}
		lines = append(lines, string(line))
		words = words[taken:]
	}
	return lines
}

// splitIndex returns where to divide a word that does not fit: after a dot or a hyphen, as in
// Monkey.D.Luffy. It returns 0 for a word that fits or has no such place.
func splitIndex(word string, fits func(string) bool) int {
	if fits(word) {
		return 0
	}

	for at := len(word) - 1; at > 1; at-- {
		if (word[at-1] == '.' || word[at-1] == '-') && fits(word[:at]) {
			return at
		}
	}
	return 0
}

// truncate shortens a text to at most limit characters.
func truncate(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:limit-1])) + "…"
}

// Mark is the symbol of a rarity: shapes, or letters if the rarity has no shape.
type Mark struct {
	Shape   Shape
	Count   int
	Letters string
}

// Shape is a shape that is printed on cards for a rarity.
type Shape uint8

// The shapes.
const (
	NoShape Shape = iota
	Circle
	Diamond
	Star
)

// shapeCorners has the corners of each shape around its centre, clockwise from the top.
var shapeCorners = [...][][2]float32{
	Circle:  regularPolygon(24, 13, 13),
	Diamond: regularPolygon(4, 16, 16),
	Star:    regularPolygon(10, 16, 6.8),
}

// regularPolygon returns n corners that lie on one circle, or alternately on two.
func regularPolygon(n int, even, odd float64) (corners [][2]float32) {
	for i := range n {
		radius := even
		if i%2 == 1 {
			radius = odd
		}
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		corners = append(corners, [2]float32{float32(radius * sin), float32(-radius * cos)})
	}
	return corners
}

// markShift is the distance between the shapes of a mark.
const markShift = 33

// markX and markY are the centre of a mark.
const (
	markX = Width / 2
	markY = 101
)

// centres returns the x of the centres of a mark's shapes, from the left.
func (m Mark) centres() (xs []int) {
	for i := range m.Count {
		xs = append(xs, markX+markShift*i-markShift*(m.Count-1)/2)
	}
	return xs
}

// Path returns the path data of a mark, "" for letters.
func (m Mark) Path() string { return markPaths[m.Shape][m.Count] }

// maxMarkShapes is the largest number of shapes or initials of a mark.
const maxMarkShapes = 3

// markPaths are made once, because a page may show a hundred placeholders.
var markPaths = func() (all [len(shapeCorners)][maxMarkShapes + 1]string) {
	for shape, corners := range shapeCorners {
		for count := range maxMarkShapes + 1 {
			var path []byte
			for _, x := range (Mark{Count: count}).centres() {
				path = appendPath(path, corners, x)
			}
			all[shape][count] = string(path)
		}
	}
	return all
}()

// appendPath appends the path data of a shape around a point.
func appendPath(path []byte, corners [][2]float32, x int) []byte {
	for i, corner := range corners {
		letter := byte('L')
		if i == 0 {
			letter = 'M'
		}
		path = strconv.AppendFloat(append(path, letter), float64(corner[0])+float64(x), 'f', 1, 32)
		path = strconv.AppendFloat(append(path, ' '), float64(corner[1])+markY, 'f', 1, 32)
	}
	if len(corners) > 0 {
		path = append(path, 'z')
	}
	return path
}

// rarityMarks has the marks of rarities, by a word of the rarity; the first that matches counts.
var rarityMarks = []struct {
	word string
	mark Mark
}{
	{"uncommon", Mark{Shape: Diamond, Count: 1}},
	{"common", Mark{Shape: Circle, Count: 1}},
	{"promo", Mark{Letters: "PR"}},
	{"special illustration", Mark{Shape: Star, Count: 3}},
	{"hyper", Mark{Shape: Star, Count: 3}},
	{"secret", Mark{Shape: Star, Count: 3}},
	{"ultra", Mark{Shape: Star, Count: 2}},
	{"double", Mark{Shape: Star, Count: 2}},
	{"illustration", Mark{Shape: Star, Count: 2}},
	{"rare", Mark{Shape: Star, Count: 1}},
}

// maxLetters is the length of the longest rarity that is its own mark: SEC, DON!!.
const maxLetters = 5

// markOf returns the mark of a rarity, none for "".
func markOf(rarity string) Mark {
	folded := strings.ToLower(rarity)
	for _, kind := range rarityMarks {
		if strings.Contains(folded, kind.word) {
			return kind.mark
		}
	}
	if utf8.RuneCountInString(rarity) <= maxLetters {
		return Mark{Letters: rarity}
	}

	// The mark of another rarity is the initials of its words.
	var initials []rune
	for word := range strings.FieldsSeq(rarity) {
		first, _ := utf8.DecodeRuneInString(word)
		if len(initials) < maxMarkShapes {
			initials = append(initials, unicode.ToUpper(first))
		}
	}
	return Mark{Letters: string(initials)}
}
