package operate

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ninepocket/feed"
)

// Pull is a feed to be pulled. Options.Note is told what was lost.
type Pull struct {
	feed.Options
	Agent string // who asks where the operator names nobody
	Again string // the command that pulls the same
}

// PullError is the error of a pull that failed; what was here still is.
type PullError struct{ Err error }

func (e *PullError) Error() string { return e.Err.Error() }
func (e *PullError) Unwrap() error { return e.Err }

// Run pulls the feed's newest tree. The error is a *PullError.
func (p *Pull) Run(ctx context.Context) (*feed.Result, error) {
	// A second run begins with the same options.
	pulling := p.Options
	if pulling.UserAgent == "" && strings.TrimRight(cmp.Or(pulling.URL, feed.DefaultURL), "/") == feed.DefaultURL {
		pulling.OnWarning("the feed asks callers to name themselves: give --user-agent 'NAME (ADDRESS)'")
	}
	pulling.UserAgent = cmp.Or(pulling.UserAgent, p.Agent)
	result, err := feed.Pull(ctx, pulling)
	if err != nil {
		return nil, &PullError{err}
	}

	for _, missing := range result.Missing {
		text := fmt.Sprintf("%s of group %s/%s (%s) could not be had: %s", missing.File, missing.Category,
			missing.Group, missing.Name, missing.Why)
		if missing.UsedPrevious {
			text += "; those of the tree before stand in"
		}
		pulling.OnWarning(text)
	}
	if len(result.Missing) > 0 {
		pulling.OnWarning("to ask for them again run: " + p.Again)
	}
	return result, nil
}
