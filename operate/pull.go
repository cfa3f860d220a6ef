package operate

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"ninepocket/feed"
	"ninepocket/loader"
)

// Pull is a pull of a feed. Options.OnWarning gets what could not be pulled.
type Pull struct {
	feed.Options
	Agent string // default user agent
	Again string // the command that pulls the same again
}

// PullError is the error of a failed pull; earlier downloads are unchanged.
type PullError struct{ Err error }

func (e *PullError) Error() string { return e.Err.Error() }
func (e *PullError) Unwrap() error { return e.Err }

// Run pulls the feed. The error is a *PullError.
func (p *Pull) Run(ctx context.Context) (*feed.Result, error) {
	// A copy: a second run begins with the same options.
	pulling := p.Options
	if pulling.UserAgent == "" && strings.TrimRight(cmp.Or(pulling.URL, feed.DefaultURL), "/") == feed.DefaultURL {
		pulling.OnWarning("the feed asks callers to name themselves: give --user-agent 'NAME (ADDRESS)'")
	}
	pulling.UserAgent = cmp.Or(pulling.UserAgent, p.Agent)
	result, err := feed.Pull(ctx, pulling)
	if err != nil {
		return nil, &PullError{err}
	}

	var each []string
	for _, missing := range result.Missing {
		text := fmt.Sprintf("%s of group %s/%s (%s) could not be had: %s", missing.File, missing.Category,
			missing.Group, missing.Name, missing.Why)
		if missing.UsedPrevious {
			text += "; those of the previous download stand in"
		}
		each = append(each, text)
	}
	if len(each) > 0 {
		pulling.OnWarning(loader.Examples(each, ". ") + ". To ask for them again run: " + p.Again)
	}
	return result, nil
}
