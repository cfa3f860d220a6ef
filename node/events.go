package node

import (
	"errors"
	"log/slog"
	"slices"
	"time"

	"ninepocket/access"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
)

// warnKeysWithoutPlan logs the keys that get 503 because the plan of their tenant is not configured: all of them, or
// those that it has not named since the last time that it named all.
func (n *Node) warnKeysWithoutPlan(all bool) {
	n.planless.Lock()
	defer n.planless.Unlock()
	if all || n.planless.known == nil {
		n.planless.known = map[string]bool{}
	}

	for _, u := range n.ring.WithoutPlan(time.Now()) {
		fresh := slices.DeleteFunc(u.Keys, func(key string) bool { return n.planless.known[u.Plan+" "+key] })
		if len(fresh) > 0 {
			n.Log.Warn("keys unusable: the plan of their tenant is not configured, requests get 503",
				slog.String("plan", u.Plan), slog.String("tenant", u.Tenant), slog.Any("keys", fresh))
		}
		for _, key := range fresh {
			n.planless.known[u.Plan+" "+key] = true
		}
	}
}

// renameDeleted gives the calls of deleted tenants to their opaque names.
func (n *Node) renameDeleted() error {
	if n.journal == nil {
		return nil
	}
	return n.journal.RenameDeleted(n.ring.Deleted())
}

// eventLog logs events of a server's parts that an operator should know.
type eventLog struct{ log *slog.Logger }

// clockStepped logs that days, periods and expiry follow another time from now on.
func (events eventLog) clockStepped(by time.Duration) {
	events.log.Warn("the wall clock was stepped: days, periods and expiry follow the new time", slog.Duration("by", by))
}

// keysChanged logs a changed keys file. An unreadable file is logged when that begins and when it
// ends, because until then a revoked key may still work.
func (n *Node) keysChanged(changed bool, err error) {
	if changed {
		n.Log.Info("keys changed")
		n.warnKeysWithoutPlan(false)
		if err := n.renameDeleted(); err != nil {
			n.Log.Error("the name of a deleted tenant stays in the state directory until the next checkpoint",
				slog.Any("cause", err))
		}
	}
	switch {
	case err != nil:
		n.Log.Error("keys unreadable: the previous keys stay in force, and revocations have no effect",
			slog.Any("cause", err))
	case !changed:
		n.Log.Info("keys readable again")
	}
}

// meteringChanged logs that the store fails, or that it has recovered. The store retries by itself.
func (events eventLog) meteringChanged(err error) {
	switch {
	case err == nil:
		events.log.Info("metering recovered")
	case errors.Is(err, statedir.ErrMoved):
		events.log.Error("metering is down: requests get 503 until the state directory is back at its path",
			slog.Any("cause", err))
	case errors.Is(err, state.ErrLogLost):
		events.log.Error("the metering log was removed while in use: its content goes into a checkpoint now",
			slog.Any("cause", err))

	case errors.Is(err, access.ErrUnavailable):
		events.log.Error("metering is down: requests get 503 until the log can be written",
			slog.Any("cause", err))
	default:
		events.log.Error("checkpoint failed: the metering log grows until a checkpoint is written",
			slog.Any("cause", err))
	}
}

// certificateChanged logs the result of loading changed certificate files.
func (n *Node) certificateChanged(err error) {
	if err != nil {
		n.Log.Error("cannot load the new certificate: the old certificate stays in use", slog.Any("cause", err),
			slog.Time("expires_at", n.cert.Expires()))
		return
	}
	n.Log.Info("certificate changed", slog.Time("expires_at", n.cert.Expires()))
}

// reloadCertificate reads the certificate's files again, if there are any.
func (n *Node) reloadCertificate() error {
	if n.cert == nil {
		return nil
	}

	err := n.cert.Reload()
	if err == nil {
		n.certificateChanged(nil)
	}
	return err
}
