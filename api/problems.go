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
	listed []string
	count  int // with those beyond maxProblems
}

func (p *problems) reset() problems {
	clear(p.listed)
	return problems{listed: p.listed[:0]}
}

// problem notes what is wrong with the request, in words made of format and args as fmt.Sprintf
// does.
func (r *Request) problem(format string, args ...any) {
	p := &r.problems
	p.count++
	if len(p.listed) < maxProblems {
		p.listed = append(p.listed, fmt.Sprintf(format, args...))
	}
}

// addItemError notes what is wrong with the n-th element of a body's list.
func (r *Request) addItemError(n int, format string, args ...any) {
	r.problem("items[%d]"+format, append([]any{n}, args...)...)
}

// invalid is the fault that names every problem noted, nil without one.
func (r *Request) invalid() *wire.APIError {
	p := &r.problems
	if p.count == 0 {
		return nil
	}

	detail := strings.Join(p.listed, "; ")
	if more := p.count - len(p.listed); more > 0 {
		detail += fmt.Sprintf("; and %d more", more)
	}
	return refuse(wire.InvalidRequest, "%s", detail)
}

// refuse is a fault that no retry mends.
func refuse(code wire.Code, format string, args ...any) *wire.APIError {
	return &wire.APIError{Code: code, Detail: fmt.Sprintf(format, args...)}
}
