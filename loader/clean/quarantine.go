package clean

import (
	"bytes"
	"encoding/json"

	"ninepocket/loader/source"
)

// maxLines bounds the lines that are kept; all are counted.
const maxLines = 200_000

// MaxValue bounds the offending value in a line, in bytes.
const MaxValue = 200

// Quarantine gathers what was refused (decision 26), a JSON object a line in the order of the
// input.
type Quarantine struct {
	Lines  bytes.Buffer
	Counts map[string]int // by reason
	Cut    int            // lines that were counted and not kept
	kept   int
}

// quarantineLine is one line of the report.
type quarantineLine struct {
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Ref    string `json:"ref"`
	Value  string `json:"value"`
}

// Add notes a refused record.
func (q *Quarantine) Add(quarantine source.Quarantine) {
	if q.Counts == nil {
		q.Counts = map[string]int{}
	}

	q.Counts[quarantine.Reason]++
	if q.kept == maxLines {
		q.Cut++
		return
	}

	q.kept++
	enc := json.NewEncoder(&q.Lines)
	enc.SetEscapeHTML(false)
	// A struct of strings and a number cannot fail to encode, nor a buffer to take it.
	_ = enc.Encode(quarantineLine{
		Reason: quarantine.Reason, File: source.Clip(quarantine.At.File, MaxValue), Line: quarantine.At.Line,
		Ref: source.Clip(quarantine.Ref, MaxValue), Value: source.Clip(quarantine.Value, MaxValue),
	})
}

// Refuse notes a record that the loader itself refuses.
func (q *Quarantine) Refuse(at source.At, reason, ref, value string) {
	q.Add(source.Quarantine{At: at, Reason: reason, Ref: ref, Value: value})
}
