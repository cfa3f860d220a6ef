package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/engine"
	"ninepocket/fleet/control"
	"ninepocket/fleet/limiter"
)

// cursorKeysInterval is how often a server asks for the secrets that sign cursors: a new one is known
// for ten minutes before it signs.
const cursorKeysInterval = time.Minute

// lastExportTimeout is how long the end of a server waits for its last report. What is not sent by
// then is sent at the next start.
const lastExportTimeout = 5 * time.Second

// fleetNode is what a server of a fleet has besides.
type fleetNode struct {
	control        *control.DB
	keys           *control.KeySource
	exporter       *control.Exporter
	exportInterval time.Duration
}

// openControl opens the database of a fleet, where one is configured.
func (n *Node) openControl(ctx context.Context) error {
	if n.Config.Control == "" {
		return nil
	}

	_, export, err := n.Config.FleetOptions()
	if err != nil {
		return err
	}
	db, err := control.Open(ctx, n.Config.Control)
	if err != nil {
		return err
	}
	// From here on keys and cursors come from the database.
	n.fleet = &fleetNode{control: db, exportInterval: export}
	n.onClose(func() error { db.Close(); return nil })

	// Two servers would each admit the whole limit.
	if n.Config.Metering == "" {
		n.Log.Warn("limits hold on this server alone: give metering, or run one server")
	}
	return nil
}

// openExport begins the reports of what this server charges, where there is a fleet. Nobody else has
// the state directory now.
func (n *Node) openExport(ctx context.Context) error {
	if n.fleet == nil {
		return nil
	}

	state := n.Config.State
	incarnation, err := statedir.Incarnation(state)
	if err != nil {
		return err
	}
	// It may be what the operator wants, and costs money after a crash.
	if isTmpfs(state) {
		n.Log.Warn("the state directory is on tmpfs: what a crash of this machine takes with it is not billed",
			slog.String("state", state))
	}

	n.fleet.exporter, err = n.fleet.control.NewExporter(ctx, control.ExportOptions{
		Incarnation: incarnation, Host: Hostname(), Version: n.Version, Source: n.journal, Now: time.Now,
		Served: n.servedState, Report: eventLog{n.Log}.exportChanged, OnLag: eventLog{n.Log}.ledgerBehind,
	})
	return err
}

// Hostname names this machine for people.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// servedState is what this server serves now.
func (n *Node) servedState() control.ServedState {
	out := control.ServedState{Snapshot: n.engine.View().ID, Epoch: n.engine.Stats().Epoch}
	if n.images != nil {
		out.Images = n.images.ListHash()
	}
	return out
}

// exportChanged logs that what is charged cannot be reported, and that it is over.
func (r eventLog) exportChanged(err error) {
	switch {
	case err == nil:
		r.log.Info("the ledger is up to date again")
	case errors.Is(err, control.ErrSessionTaken):
		r.log.Error("this server cannot report what it charges", slog.Any("cause", err))
	default:
		r.log.Warn("what is charged waits in the state directory", slog.Any("cause", err))
	}
}

// ledgerBehind logs that what is charged could not be reported for long.
func (r eventLog) ledgerBehind(by time.Duration, err error) {
	r.log.Error("the ledger is behind", slog.String("cause", control.LagMessage(by, err)))
}

// followCursorKeys takes secrets over that sign cursors, until ctx is done. What cannot be read is read
// the next time: the ones of before are good for a month.
func (n *Node) followCursorKeys(ctx context.Context) {
	ticker := time.NewTicker(cursorKeysInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		keys, err := n.fleet.control.CursorKeys(ctx)
		if err == nil {
			err = n.cursors.Replace(keys...)
		}
		if err != nil && ctx.Err() == nil {
			n.Log.Warn("cannot read the secrets of cursors: the previous ones stay", slog.Any("cause", err))
		}
	}
}

// exportLast reports what is left when a server ends.
func (n *Node) exportLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExportTimeout)
	defer cancel()
	if err := n.fleet.exporter.Export(ctx); err != nil {
		n.Log.Warn("the last report is left for the next start", slog.Any("cause", err))
	}
}

// limiterChanged logs that the limiter is unavailable, that it is available again, and what it
// lost.
func (r eventLog) limiterChanged(err error) {
	_, lost := errors.AsType[*limiter.LostError](err)
	switch {
	case err == nil:
		r.log.Info("the limiter is available again")
	case lost:
		r.log.Error("the limiter lost writes", slog.Any("cause", err))
	default:
		r.log.Error("the limiter is unavailable: calls are answered 503, and cost nothing", slog.Any("cause", err))
	}
}

// engineStats are the engine's figures. A server is also behind when its time has come for what it
// does not even have.
func (n *Node) engineStats(now time.Time) engine.Stats {
	stats := n.engine.Stats()
	if n.mirror != nil {
		published, _ := n.mirror.Published()
		// What is published and not even downloaded is no epoch of the engine.
		stats.Behind = stats.Behind || published.Epoch > stats.Epoch && !now.Before(published.ActivateAt)
	}
	return stats
}
