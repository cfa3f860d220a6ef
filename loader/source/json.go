package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recordError is the fault of one record.
type recordError struct{ reason, ref, value string }

func (f *recordError) Error() string { return f.reason + ": " + f.value }

// record is one element of a file's list: the read value, or the reason of its refusal.
type record[T any] struct {
	line int // 1-based
	rec  T
	bad  *recordError
}

// recordErrorOf names the reason of a JSON error.
func recordErrorOf(err error, raw []byte) *recordError {
	var wrong *recordError
	var semantic *json.SemanticError

	// The library reports some errors by type, some by value and one by its words alone.
	switch {
	case errors.As(err, &wrong):
		return wrong
	case errors.Is(err, jsontext.ErrDuplicateName):
		return &recordError{reason: ReasonDuplicateKey, value: string(raw)}
	case errors.Is(err, json.ErrUnknownName):
		return &recordError{reason: ReasonUnknownMember, value: string(raw)}
	case errors.As(err, &semantic):
		return &recordError{reason: ReasonBadJSON, value: string(semantic.JSONPointer) + " in " + string(raw)}
	case strings.Contains(err.Error(), "invalid UTF-8"):
		return &recordError{reason: ReasonBadText, value: string(raw)}
	default:
		return &recordError{reason: ReasonBadJSON, value: string(raw)}
	}
}

// readElements reads the elements of the array that dec stands before. An element that is not a T,
// or that check refuses, is a bad record; only broken JSON is an error.
func readElements[T any](dec *jsontext.Decoder, check func(*T) *recordError) ([]record[T], error) {
	if k := dec.PeekKind(); k != '[' {
		return nil, wantKind(dec, "an array")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}

	var list []record[T]
	for dec.PeekKind() != ']' {
		// The whole element is taken before it is looked at, so that a bad one leaves the decoder
		// in step.
		raw, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}

		list = append(list, readElement(raw, len(list)+1, check))
	}

	_, err := dec.ReadToken()
	return list, err
}

// readElement reads one element. A bad one is refused by itself; its neighbours are none the worse.
func readElement[T any](raw jsontext.Value, line int, check func(*T) *recordError) record[T] {
	e := record[T]{line: line}
	if err := json.Unmarshal(raw, &e.rec); err != nil {
		e.bad = recordErrorOf(err, raw)
	} else if raw.Kind() != '{' {
		e.bad = &recordError{reason: ReasonBadJSON, value: string(raw)}
	} else {
		e.bad = check(&e.rec)
	}

	return e
}

// wantKind is the error of a decoder that stands before something else.
func wantKind(dec *jsontext.Decoder, what string) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	return fmt.Errorf("want %s at byte %d", what, dec.InputOffset())
}

// readObject reads the members of the object that dec stands before, which each must consume.
func readObject(dec *jsontext.Decoder, each func(name string) error) error {
	if dec.PeekKind() != '{' {
		return wantKind(dec, "an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}

	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := each(name.String()); err != nil {
			return err
		}
	}

	_, err := dec.ReadToken()
	return err
}

// readEnd reports text after the document, which must be none.
func readEnd(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("data follows the document at byte %d", dec.InputOffset())
	}
	return nil
}

// readArrayFile reads a file that is one array.
func readArrayFile[T any](data []byte, check func(*T) *recordError) ([]record[T], error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	list, err := readElements(dec, check)
	if err != nil {
		return nil, err
	}
	return list, readEnd(dec)
}

// scalar returns a string's or number's text, and "" for anything else.
func scalar(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, v)
		if err != nil {
			return ""
		}
		return string(text)

	case '0':
		return string(v)
	default:
		return ""
	}
}

// wholeNumber returns a JSON number's text when it is a plain positive integer of at most 18
// digits.
func wholeNumber(v jsontext.Value) (string, bool) {
	if len(v) == 0 || len(v) > 18 || v[0] == '0' || len(bytes.Trim(v, "0123456789")) > 0 {
		return "", false
	}
	return string(v), true
}

// spaced parts the words of a label written without spaces: "SuperRare" is "Super Rare". Text with
// spaces is kept.
func spaced(s string) string {
	if strings.Contains(s, " ") {
		return s
	}

	return wordsTogether.ReplaceAllString(s, "$1 $2")
}

// wordsTogether is a small letter and the capital behind it, which begins a word.
var wordsTogether = regexp.MustCompile(`([a-z])([A-Z])`)
