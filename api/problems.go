package api

import (
	"strings"

	"ninepocket/wire"
)

// maxProblems is how many problems a detail names: more than any operation has parameters. A body can be wrong in
// very many places, and an answer must not be larger than what it answers.
const maxProblems = 20

// problems gathers what is wrong with a request; all of it is named in one detail (decision 5).
type problems struct {
	named   []string
	unnamed int // beyond those
}

func (p *problems) reset() problems {
	clear(p.named)
	return problems{named: p.named[:0]}
}

// any reports whether something is wrong.
func (p *problems) any() bool { return len(p.named) > 0 }

// full reports whether one more is only counted.
func (p *problems) full() bool { return len(p.named) == maxProblems }

// problem notes what is wrong with the request.
func (r *Request) problem(text string) {
	p := &r.problems
	if p.full() {
		p.unnamed++
		return
	}
	p.named = append(p.named, text)
}

// itemProblem notes what is wrong with an element of a body's list.
func (r *Request) itemProblem(n int, text string) {
	if r.problems.full() {
		r.problems.unnamed++ // without spelling it
		return
	}
	r.problem("items[" + wire.Decimal(int64(n)) + "]" + text)
}

// invalid is the fault that names every problem noted, nil without one.
func (r *Request) invalid() *wire.Fault {
	p := &r.problems
	if !p.any() {
		return nil
	}

	detail := strings.Join(p.named, "; ")
	if p.unnamed > 0 {
		detail += "; and " + wire.Decimal(int64(p.unnamed)) + " more"
	}
	return &wire.Fault{Code: wire.InvalidRequest, Detail: detail + "."}
}
