package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/ledger"
)

// cursorsPoll is how often a server asks for the secrets that sign cursors: a new one is known for ten
// minutes before it signs.
const cursorsPoll = time.Minute

// lastExport is how long the end of a server waits for its last report. What is not sent by then is
// sent at the next start.
const lastExport = 5 * time.Second

// sharing is what a server of a fleet has besides.
type sharing struct {
	control  *ledger.DB
	keys     *ledger.Keys
	exporter *ledger.Exporter
	export   time.Duration
}

// openControl opens the database of a fleet, where one is configured.
func (s *service) openControl(ctx context.Context) error {
	if s.config.Control == "" {
		return nil
	}

	fleet, err := s.config.fleet()
	if err != nil {
		return fail(exitUsage, "", err)
	}
	db, err := openControl(ctx, s.config.Control)
	if err != nil {
		return fail(exitNotReady, hintOf(err), fmt.Errorf("cannot serve without keys: %w", err))
	}
	s.fleet = &sharing{control: db, export: fleet.export}
	if s.config.Metering == "" {
		s.log.Warn("limits hold on this server alone: give metering, or run one server")
	}
	return nil
}

func (s *service) closeControl() {
	if s.fleet != nil {
		s.fleet.control.Close()
	}
}

// openSharedKeys reads the keys of a fleet.
func (s *service) openSharedKeys(plans keys.Plans) error {
	s.fleet.keys = s.fleet.control.Keys(time.Now)
	ring, err := keys.RingFrom(s.fleet.keys, plans)
	if err == nil && ring.Len() == 0 {
		err = fmt.Errorf("%s: %w", s.fleet.control, errNoSharedKeys)
	}
	if err != nil {
		_, hint := remedyOf(err, controlRemedies, redact(s.config.Control))
		return fail(exitNotReady, hint, fmt.Errorf("cannot serve without keys: %w", err))
	}
	s.ring = ring
	return nil
}

// openSharedCursors reads the secrets that sign cursors on all servers.
func (s *service) openSharedCursors(ctx context.Context) (*cursor.Signer, error) {
	keys, err := s.fleet.cursorKeys(ctx)
	if err != nil {
		return nil, asFailure(err, controlRemedies, redact(s.config.Control))
	}
	return cursor.NewSigner(keys...)
}

func (shared *sharing) cursorKeys(ctx context.Context) ([]cursor.Key, error) {
	found, err := shared.control.CursorKeys(ctx)
	keys := make([]cursor.Key, len(found))
	for i, key := range found {
		keys[i] = cursor.Key{ID: key.ID, Secret: key.Secret}
	}
	return keys, err
}

// openExport begins the reports of what this server charges. Nobody else has the state directory now.
func (s *service) openExport(ctx context.Context, source ledger.Source) error {
	state := s.config.State
	incarnation, err := statedir.Incarnation(state)
	if err != nil {
		return asFailure(err, stateRemedies, state)
	}
	if forgetful(state) {
		s.log.Warn("the state directory is on tmpfs: what a crash of this machine takes with it is not billed",
			slog.String("state", state))
	}

	s.fleet.exporter, err = s.fleet.control.NewExporter(ctx, ledger.ExportOptions{
		Incarnation: incarnation, Host: hostname(), Version: version, Source: source, Now: time.Now,
		Serving: s.serves, Report: s.exportChanged, Behind: s.ledgerBehind,
	})
	return asFailure(err, controlRemedies, redact(s.config.Control))
}

// serves is what this server serves now.
func (s *service) serves() ledger.Serves {
	out := ledger.Serves{Snapshot: s.engine.View().ID, Epoch: s.engine.Stats().Epoch}
	if s.images != nil {
		out.Images = s.images.Listed()
	}
	return out
}

// exportChanged logs that what is charged cannot be reported, and that it is over.
func (s *service) exportChanged(err error) {
	switch {
	case err == nil:
		s.log.Info("the ledger is up to date again")
	case errors.Is(err, ledger.ErrTaken):
		s.log.Error("this server cannot report what it charges", slog.Any("cause", err))
	default:
		s.log.Warn("what is charged waits in the state directory", slog.Any("cause", err))
	}
}

// ledgerBehind logs that what is charged could not be reported for long.
func (s *service) ledgerBehind(by time.Duration, err error) {
	s.log.Error("the ledger is behind", slog.String("cause", ledger.Behind(by, err)))
}

// followCursors takes secrets over that sign cursors, until ctx is done. What cannot be read is read
// the next time: the ones of before are good for a month.
func (s *service) followCursors(ctx context.Context) {
	ticker := time.NewTicker(cursorsPoll)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		keys, err := s.fleet.cursorKeys(ctx)
		if err == nil {
			err = s.cursors.Replace(keys...)
		}
		if err != nil && ctx.Err() == nil {
			s.log.Warn("cannot read the secrets of cursors: those of before stay", slog.Any("cause", err))
		}
	}
}

// exportLast reports what is left when a server ends.
func (s *service) exportLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastExport)
	defer cancel()
	if err := s.fleet.exporter.Export(ctx); err != nil {
		s.log.Warn("the last report is left for the next start", slog.Any("cause", err))
	}
}

// sharingStats are figures of what a server shares.
type sharingStats struct {
	reported time.Time // when the ledger had everything last
	heard    time.Time // when the database said last which keys there are
	pending  int64
	silent   int64
}

func (shared *sharing) stats() sharingStats {
	return sharingStats{
		reported: shared.exporter.Good(), heard: shared.keys.Good(), pending: shared.exporter.Pending(),
		silent: shared.exporter.Silent(),
	}
}

func (out sink) fleet(stats sharingStats, now time.Time) {
	out.since("fleet_ledger_age_seconds", "Time since the ledger had everything that this server charged.", now,
		stats.reported)
	gauge(out, "fleet_ledger_rows_pending", "Rows of the ledger that wait to be reported.", stats.pending)
	out.since("fleet_keys_age_seconds", "Time since the database of the fleet last said which keys there are.", now,
		stats.heard)
	gauge(out, "fleet_silent_servers", "Other servers that have not reported for ten minutes and are not forgotten.",
		stats.silent)
}
