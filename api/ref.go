package api

import (
	"unicode/utf8"
	"unsafe"

	"ninepocket/wire"
)

// PathID decodes the path's {id}; what decision 4 refuses is false. The id lives in the request's scratch memory: it
// is to be looked up at once.
func (r *Request) PathID() (string, bool) {
	raw := r.Ref
	r.text = r.text[:0]

	for i := 0; i < len(raw); i++ {
		b := raw[i]
		if b == '%' {
			var ok bool
			if b, ok = unhex(raw[i:]); !ok || b == '/' {
				return "", false
			}
			i += 2
		}
		r.text = append(r.text, b)
	}

	ref := unsafe.String(unsafe.SliceData(r.text), len(r.text))
	return ref, textProblem(ref) == "" && int64(utf8.RuneCountInString(ref)) <= wire.RefText.Max
}

// Card finds the card that the path names by id, slug or former slug.
func (r *Request) Card() (int, bool) {
	ref, ok := r.PathID()
	if !ok {
		return 0, false
	}
	return r.View.Index.Card(ref)
}

// Set finds the set that the path names.
func (r *Request) Set() (int, bool) {
	ref, ok := r.PathID()
	if !ok {
		return 0, false
	}
	return r.View.Index.Set(ref)
}

func noCard() *wire.Fault {
	return &wire.Fault{Code: wire.NotFound, Detail: "No card has this id or slug."}
}
