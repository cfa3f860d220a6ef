package mcp

// TextOf returns the text that a tool makes from a result.
func TextOf(name string, answer []byte) string {
	var w layoutWriter
	for _, t := range tools() {
		if t.name == name {
			w.write(t.text, answer)
		}
	}
	return string(w.text)
}

// InterpretationKinds returns the kinds of remarks for the notes of a search, by index.NoteKind.
func InterpretationKinds() []string { return interpretationKinds[:] }
