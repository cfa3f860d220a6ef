package api

import (
	"fmt"
	"strings"

	"ninepocket/wire"
)

// maxProblems is how many problems a detail names: more than any operation has parameters. A body
// can be wrong in very many places, and an answer must not be larger than what it answers.
const maxProblems = 20

// problems gathers what is wrong with a request; all of it is named in one detail (decision 5).
type problems struct {
	named []string
	count int // with those beyond maxProblems
}

func (p *problems) reset() problems {
	clear(p.named)
	return problems{named: p.named[:0]}
}

// problem notes what is wrong with the request, in words made of format and args as fmt.Sprintf
// does.
func (r *Request) problem(format string, args ...any) {
	p := &r.problems
	p.count++
	if len(p.named) < maxProblems {
		p.named = append(p.named, fmt.Sprintf(format, args...))
	}
}

// itemProblem notes what is wrong with the n-th element of a body's list.
func (r *Request) itemProblem(n int, format string, args ...any) {
	r.problem("items[%d]"+format, append([]any{n}, args...)...)
}

// invalid is the fault that names every problem noted, nil without one.
func (r *Request) invalid() *wire.Fault {
	p := &r.problems
	if p.count == 0 {
		return nil
	}

	detail := strings.Join(p.named, "; ")
	if more := p.count - len(p.named); more > 0 {
		detail += fmt.Sprintf("; and %d more", more)
	}
	return refuse(wire.InvalidRequest, "%s", detail)
}

// refuse is a fault that no retry mends.
func refuse(code wire.Code, format string, args ...any) *wire.Fault {
	return &wire.Fault{Code: code, Detail: fmt.Sprintf(format, args...)}
}
