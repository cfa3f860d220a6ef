package api

import (
	"fmt"
	"strings"

	"ninepocket/wire"
)

// maxProblems is how many problems a detail names: more than any operation has parameters. A body
// can be wrong in very many places, and a response must not be larger than its request.
const maxProblems = 20

// problems collects the faults of a request; one detail names all (decision 5).
type problems struct {
	listed []string
	count  int // with those beyond maxProblems
}

// problem records what is wrong with the request, formatted as by fmt.Sprintf.
func (r *Request) problem(format string, args ...any) {
	p := &r.problems
	p.count++
	if len(p.listed) < maxProblems {
		p.listed = append(p.listed, fmt.Sprintf(format, args...))
	}
}

// addItemError records what is wrong with the n-th element of a body's list.
func (r *Request) addItemError(n int, format string, args ...any) {
	r.problem("items[%d]"+format, append([]any{n}, args...)...)
}

// Invalid returns the error of all problems with a request's parameters, nil for none.
func Invalid(r *Request) *wire.APIError { return r.invalid() }

// invalid returns the error that names every recorded problem, nil without one.
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

// refuse returns an error that a retry does not fix.
func refuse(code wire.Code, format string, args ...any) *wire.APIError {
	return &wire.APIError{Code: code, Detail: fmt.Sprintf(format, args...)}
}
