package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/settings"
	"ninepocket/snapshot"
)

// firstPull is how long a start waits for the store when an earlier snapshot is here to serve.
const firstPull = 5 * time.Second

// openMirror pulls what many servers serve, when the store is of that kind. A start needs no
// network where an earlier snapshot is here.
func (s *service) openMirror(ctx context.Context) error {
	if !s.config.Mirrored() {
		return nil
	}
	publishers, err := settings.ParsePublishers(s.config.Publishers)
	if err != nil {
		return fail(exitUsage, "", err)
	}
	bucket, err := openBucket(s.config.Store)
	if err != nil {
		return asMirrorFailure(err, s.config.Store)
	}

	dir := snapshot.OpenDir(s.config.StoreCache)
	s.mirror = mirror.NewCache(bucket, dir, mirror.CacheOptions{
		Publishers: publishers, Recent: cursor.Lifetime, Log: s.log,
	})
	_, here := dir.Current()
	if here == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstPull)
		defer cancel()
	}

	done, err := s.mirror.Pull(ctx)
	switch {
	case err == nil && done.Changed:
		s.log.Info("snapshot is pulled", slog.String("snapshot_id", done.ID), slog.Uint64("epoch", done.Epoch),
			slog.String("publisher", done.By), slog.Int64("downloaded_bytes", done.Downloaded))
	case err != nil && here == nil:
		s.log.Error("cannot ask the snapshot store, serving what was pulled before", slog.Any("cause", err))
	case err != nil:
		return notReady(asMirrorFailure(fmt.Errorf("cannot serve without a snapshot: %w", err), s.config.Store))
	}
	return nil
}

// notReady gives a failure the code of a start that lacks something.
func notReady(err error) error {
	if failed, ok := errors.AsType[*failure](err); ok {
		return fail(exitNotReady, failed.hint, failed.err)
	}
	return fail(exitNotReady, "", err)
}

// engineStats are the engine's figures. A server is also behind when its time has come for what it
// does not even have.
func (s *service) engineStats(now time.Time) engine.Stats {
	stats := s.engine.Stats()
	if s.mirror != nil {
		published, _ := s.mirror.Published()
		stats.Behind = stats.Behind || published.Epoch > stats.Epoch && !now.Before(published.ActivateAt)
	}
	return stats
}

// mirror sends the figures of the store that many servers follow.
func (out sink) mirror(stats mirror.Stats, made engine.Stats, now time.Time) {
	asked := stats.Asked
	if !asked.IsZero() {
		out.since("fleet_store_poll_age_seconds", "Time since the store of many servers said what is published.", now,
			asked)
	}
	counter(out, "fleet_download_bytes_total", "Bytes of sections that were downloaded.", stats.Downloaded)
	counter(out, "fleet_download_seconds_total", "Time that pulls of new snapshots took.", stats.Took.Seconds())
	gauge(out, "fleet_trusted_epoch", "Epoch of the publication that was taken up last.", stats.Epoch)
	gauge(out, "fleet_prepared", "1 while a snapshot is made ready and waits for its time.", flag(made.Prepared != ""))
	gauge(out, "fleet_activation_late_seconds",
		"By how much the last snapshot came live after the time that all servers were given.", made.Late.Seconds())
	gauge(out, "fleet_published_epoch", "Epoch that the store of many servers publishes, whether it is here or not.",
		stats.Published)
	gauge(out, "fleet_trust_version", "Version of the list of publishers that holds here; 0 before the first.",
		stats.Trust)
}
