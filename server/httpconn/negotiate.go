package httpconn

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// weighted returns the names of a list with their weights (RFC 9110, 12.4.2). An invalid weight
// counts as 0: the client did not clearly accept it.
func weighted(header []byte) iter.Seq2[[]byte, float64] {
	return func(yield func([]byte, float64) bool) {
		for item := range bytes.SplitSeq(header, []byte{','}) {
			name, params, _ := bytes.Cut(item, []byte{';'})
			if !yield(bytes.TrimSpace(name), weightOf(params)) {
				return
			}
		}
	}
}

// weightOf returns the q parameter, 1 without one.
func weightOf(params []byte) float64 {
	for p := range bytes.SplitSeq(params, []byte{';'}) {
		name, value, _ := bytes.Cut(bytes.TrimSpace(p), []byte{'='})
		if !bytes.EqualFold(name, []byte{'q'}) {
			continue
		}

		weight, err := strconv.ParseFloat(string(value), 64)
		if err != nil || !(weight >= 0 && weight <= 1) {
			return 0
		}
		return weight
	}
	return 1
}

// AcceptsByName reports whether an Accept header names a media type with a weight above 0.
func AcceptsByName(header []byte, media string) bool {
	for name, weight := range weighted(header) {
		if bytes.EqualFold(name, []byte(media)) && weight > 0 {
			return true
		}
	}
	return false
}

// Accepts reports whether an Accept header allows a media type.
func Accepts(header []byte, media string) bool {
	weight, _ := weightFor(header, media)
	return weight > 0
}

// Prefers reports whether an Accept header names a media type, with a higher weight than another has.
func Prefers(header []byte, media, other string) bool {
	weight, named := weightFor(header, media)
	if !named {
		return false
	}
	otherWeight, _ := weightFor(header, other)
	return weight > otherWeight
}

// weightFor returns the weight of a media type in an Accept header, 0 without one, and whether the
// header names it. The most specific matching range decides (RFC 9110, 12.5.1).
func weightFor(header []byte, media string) (weight float64, named bool) {
	kind, _, _ := strings.Cut(media, "/")
	ranges := [...]string{"*/*", kind + "/*", media}

	best := -1
	for name, given := range weighted(header) {
		for i, media := range ranges {
			if i >= best && bytes.EqualFold(name, []byte(media)) {
				best = i
				weight = given
			}
		}
	}
	return weight, best == len(ranges)-1
}

// pickEncoding picks zstd or gzip from an Accept-Encoding list, "" for neither (RFC 9110, 12.5.3).
func pickEncoding(accept []byte) string {
	const unnamed = -1
	if len(accept) == 0 {
		return ""
	}
	names := [...]string{"zstd", "gzip", "identity", "*"}
	weights := [len(names)]float64{unnamed, unnamed, unnamed, unnamed}
	// Other encodings are ignored, and of a repeated one the last counts.
	for name, weight := range weighted(accept) {
		for i := range names {
			if bytes.EqualFold(name, []byte(names[i])) {
				weights[i] = weight
			}
		}
	}

	// zstd is first, so it wins a tie.
	best := ""
	top := 0.0
	for i, name := range names[:2] {
		weight := weights[i]
		if weight == unnamed {
			weight = weights[3]
		}
		if weight > top {
			best = name
			top = weight
		}
	}
	if weights[2] > top {
		return ""
	}
	return best
}
