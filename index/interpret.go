package index

import (
	"slices"

	"ninepocket/index/text"
)

// A Note explains how one part of a query was interpreted.
type Note = text.Note

// A NoteKind is the kind of a Note, such as a correction or a dropped word.
type NoteKind = text.NoteKind

// The kinds of notes.
const (
	Dropped       = text.Dropped
	Replaced      = text.Replaced
	Corrected     = text.Corrected
	Missing       = text.Missing
	MatchedSet    = text.MatchedSet
	MatchedNumber = text.MatchedNumber
	Preferred     = text.Preferred
	InGame        = text.InGame
	Sorted        = text.Sorted
	Bounded       = text.Bounded
	InEra         = text.InEra
	NoCard        = text.NoCard
)

// HasKind reports whether one of the notes is of a kind.
func HasKind(notes []Note, kind NoteKind) bool {
	return slices.ContainsFunc(notes, func(note Note) bool { return note.Kind == kind })
}
