package loader

import (
	"bytes"
	"encoding/json"

	"ninepocket/loader/source"
)

// maxQuarantine bounds the lines that are kept; all are counted.
const maxQuarantine = 200_000

// maxQuarantineValue bounds the offending value in a line, in bytes.
const maxQuarantineValue = 200

// quarantine gathers what was refused (decision 26), a JSON object a line in the order of the
// input.
type quarantine struct {
	lines  bytes.Buffer
	kept   int
	cut    int
	counts map[string]int
}

// quarantineLine is one line of the report.
type quarantineLine struct {
	Reason string `json:"reason"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Ref    string `json:"ref"`
	Value  string `json:"value"`
}

// add notes a refused record.
func (q *quarantine) add(quarantine source.Quarantine) {
	if q.counts == nil {
		q.counts = map[string]int{}
	}

	q.counts[quarantine.Reason]++
	if q.kept == maxQuarantine {
		q.cut++
		return
	}

	q.kept++
	enc := json.NewEncoder(&q.lines)
	enc.SetEscapeHTML(false)
	// A struct of strings and a number cannot fail to encode, nor a buffer to take it.
	_ = enc.Encode(quarantineLine{
		Reason: quarantine.Reason, File: source.Clip(quarantine.At.File, maxQuarantineValue), Line: quarantine.At.Line,
		Ref: source.Clip(quarantine.Ref, maxQuarantineValue), Value: source.Clip(quarantine.Value, maxQuarantineValue),
	})
}

// refuse notes a record that the loader itself refuses.
func (q *quarantine) refuse(at source.At, reason, ref, value string) {
	q.add(source.Quarantine{At: at, Reason: reason, Ref: ref, Value: value})
}
