package index

import "ninepocket/index/text"

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
)
