package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/control"
	"ninepocket/fleet/limiter"
	"ninepocket/internal/settings"
)

// cursorKeysInterval is the time between two reads of the secrets that sign cursors: a new secret
// is known for ten minutes before it signs.
const cursorKeysInterval = time.Minute

// lastExportTimeout is how long the end of a server waits for its last export. Rows that are not
// sent by then are sent at the next start.
const lastExportTimeout = 5 * time.Second

// fleetNode is what a server of a fleet has in addition.
type fleetNode struct {
	control        *control.DB
	keys           *control.ServerKeys
	cursorKeys     []cursor.Key // from the time before an outage that the start met
	exporter       *control.Exporter
	exportInterval time.Duration
}

// openControl opens the database of a fleet, if one is configured.
func (n *Node) openControl(ctx context.Context) error {
	if n.Config.Control == "" {
		return nil
	}

	_, export, err := n.Config.FleetOptions()
	if err != nil {
		return err
	}
	maxAge, err := time.ParseDuration(n.Config.Fleet.KeysMaxAge)
	if err != nil {
		return err
	}
	db, err := control.New(n.Config.Control)
	if err != nil {
		return err
	}
	// From here on keys and cursors come from the database.
	n.fleet = &fleetNode{control: db, keys: db.ServerKeys(n.Config.State, time.Now), exportInterval: export}
	n.onClose(func() error { db.Close(); return nil })

	// While it does not answer, a start uses the keys and plans that this server read last.
	err = db.Prepare(ctx)
	if errors.Is(err, control.ErrUnavailable) && maxAge > 0 {
		var unfit error
		n.fleet.cursorKeys, unfit = n.fleet.keys.UseCopy(maxAge)
		if unfit != nil {
			return fmt.Errorf("%w; %w", err, unfit)
		}
		n.Log.Warn("PostgreSQL does not answer: serving with the last keys and plans",
			slog.String("of", n.fleet.keys.CopiedAt()), slog.Any("cause", err))
		err = nil
	}
	if err != nil {
		return err
	}

	// Two servers would each admit the whole limit.
	if n.Config.Metering == "" {
		n.Log.Warn("limits hold on this server alone: give metering, or run one server")
	}
	return nil
}

// openExport starts the export of this server's charges, if there is a fleet. The state directory
// is locked by now.
func (n *Node) openExport(ctx context.Context) error {
	if n.fleet == nil {
		return nil
	}

	state := n.Config.State
	serverID, err := statedir.ServerID(state)
	if err != nil {
		return err
	}
	// The operator may want that, but a crash loses charges.
	if isTmpfs(state) {
		n.Log.Warn("the state directory is on tmpfs: a crash of this machine loses usage that is not billed yet",
			slog.String("state", state))
	}

	n.fleet.exporter, err = n.fleet.control.NewExporter(ctx, control.ExportOptions{
		ServerID: serverID, Host: Hostname(), Version: n.Version, Source: n.journal, Now: time.Now,
		Later:  n.fleet.cursorKeys != nil,
		Served: n.servedState, Report: eventLog{n.Log}.exportChanged, OnLag: eventLog{n.Log}.ledgerBehind,
		OnOlder: eventLog{n.Log}.ledgerOlder,
	})
	n.fleet.keys.Begin(serverID)
	if err != nil || n.fleet.cursorKeys != nil {
		return err
	}
	// The others know the plans of this server before it answers a call.
	return n.ring.Reload()
}

// Hostname returns this machine's name for messages.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}

// servedState returns what this server serves now.
func (n *Node) servedState() control.ServedState {
	out := control.ServedState{Snapshot: n.engine.View().ID, Epoch: n.engine.Stats().Epoch}
	if n.fleet != nil {
		out.Keys = n.fleet.keys.Version()
	}
	if n.images != nil {
		out.Images = n.images.ListHash()
	}
	return out
}

// exportChanged logs that charges cannot be exported, or that the export has recovered.
func (events eventLog) exportChanged(err error) {
	switch {
	case err == nil:
		events.log.Info("usage export to PostgreSQL recovered: the ledger is up to date")
	case errors.Is(err, control.ErrSessionTaken):
		events.log.Error("usage export refused: another server uses the same server id", slog.Any("cause", err))
	default:
		events.log.Warn("usage export to PostgreSQL failed: rows are queued in the state directory",
			slog.Any("cause", err))
	}
}

// ledgerBehind logs that charges could not be exported for a long time.
func (events eventLog) ledgerBehind(by time.Duration, err error) {
	events.log.Error("the ledger is behind: usage export to PostgreSQL fails",
		slog.String("cause", control.LagMessage(by, err)))
}

// ledgerOlder logs that the ledger is an older copy, and what it lacked.
func (events eventLog) ledgerOlder(rows int) {
	events.log.Error("the ledger is an older copy: missing rows are written again", slog.Int("rows", rows))
}

// revocationsMissing logs that the database has revoked keys as not revoked, or why they cannot be
// stored or revoked again.
func (events eventLog) revocationsMissing(ids []string, err error) {
	if err != nil {
		events.log.Error("missing revocations cannot be stored: the keys stay refused on this server",
			slog.Any("cause", err))
		return
	}
	events.log.Error("the database lacks revocations: these keys stay refused, and are revoked again; "+
		"to accept one again: ninepocket fleet revive", slog.Any("keys", ids))
}

// followCursorKeys reads the secrets that sign cursors at an interval until ctx is done. After an
// error the previous ones stay, which are valid for a month.
func (n *Node) followCursorKeys(ctx context.Context) {
	tick := time.Tick(cursorKeysInterval)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}

		keys, err := n.fleet.control.CursorKeys(ctx)
		if err == nil {
			err = n.cursors.Replace(keys...)
		}
		if err != nil && ctx.Err() == nil {
			n.Log.Warn("cannot read cursor secrets from PostgreSQL: the previous secrets stay in force",
				slog.Any("cause", err))
		}
	}
}

// exportLast exports the remaining rows when a server ends.
func (n *Node) exportLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExportTimeout)
	defer cancel()
	if err := n.fleet.exporter.Export(ctx); err != nil {
		n.Log.Warn("final usage export failed: it will be sent at the next start", slog.Any("cause", err))
	}
}

// reloadFleet reads passwords and certificates of PostgreSQL and Redis again, and tries them.
func reloadFleet(n *Node, fresh *settings.Config) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*lastExportTimeout)
	defer cancel()
	if n.fleet != nil {
		taken, unfit := n.fleet.control.Reload(ctx, fresh.Control)
		if taken {
			n.Config.Control = fresh.Control
		}
		err = unfit
	}

	if n.limiter != nil {
		taken, unfit := n.limiter.Reload(ctx, fresh.Metering)
		if taken {
			n.Config.Metering = fresh.Metering
		}
		err = errors.Join(err, unfit)
	}
	return err
}

// limiterChanged logs that the limiter is unavailable, that it is available again, or that it lost
// writes.
func (events eventLog) limiterChanged(err error) {
	_, lost := errors.AsType[*limiter.LostError](err)
	switch {
	case err == nil:
		events.log.Info("redis is back: the limiter is available again")
	case lost:
		events.log.Error("redis lost acknowledged writes: affected tenants get 503 for 60 s", slog.Any("cause", err))
	case errors.Is(err, limiter.ErrNew):
		events.log.Info("new redis: the limiter opens within a minute, until then requests get 503 and are not charged",
			slog.Any("cause", err))
	default:
		events.log.Error("redis away: the limiter is unavailable, requests get 503 and are not charged",
			slog.Any("cause", err))
	}
}

// engineStats returns the engine's stats. A server is also behind if it should serve a release
// that it has not even downloaded.
func (n *Node) engineStats(now time.Time) engine.Stats {
	stats := n.engine.Stats()
	if n.mirror != nil {
		published, _ := n.mirror.Published()
		// The engine does not know a release that is not downloaded.
		stats.Behind = stats.Behind || published.Epoch > stats.Epoch && !now.Before(published.ActivateAt)
	}
	return stats
}
