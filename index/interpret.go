package index

import "ninepocket/index/text"

// A Note tells what was done to words of a query (docs/SEARCH.md, What the answer tells).
type Note = text.Note

// A NoteKind says what a note tells.
type NoteKind = text.NoteKind

// The kinds of notes.
const (
	LeftOut   = text.LeftOut
	ReadAs    = text.ReadAs
	Respelt   = text.Respelt
	Missing   = text.Missing
	AsSet     = text.AsSet
	AsNumber  = text.AsNumber
	Preferred = text.Preferred
	InGame    = text.InGame
)
