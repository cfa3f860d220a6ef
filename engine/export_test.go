package engine

import (
	"context"
	"time"

	"ninepocket/snapshot"
)

// Check polls the source once, without the backoff. Unlike Retry, it does not retry a release that was
// refused permanently.
func (e *Engine) Check(now time.Time) error {
	e.pollMu.Lock()
	defer e.pollMu.Unlock()
	return e.check(context.Background(), now, false)
}

// ComposeChanges is View.composeChanges.
func ComposeChanges(v *View, deltas []*snapshot.Delta) error {
	return v.composeChanges(deltas, func() {})
}
