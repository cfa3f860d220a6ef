package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/accesslog"
	"ninepocket/internal/certificate"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/server"
	"ninepocket/snapshot"
)

// Stage is a step of a start.
type Stage int

// The stages, in the order of a start. All that is only read comes before anything is written: the
// state is last, except for the admin listener, which the previous server may have until then.
// Unusable keys and certificates end the start before a port is bound.
const (
	StageControl     Stage = iota // the database of a fleet
	StageKeys                     // of the state directory, or of the fleet
	StageCertificate              // of the API
	StagePorts                    // of the API and of administration
	StagePublish                  // Options.Publish
	StageAccessLog
	StageImages
	StageMirror   // the bucket that many servers follow
	StageSnapshot // the published snapshot
	StageCursors  // the secrets that sign cursors
	StageJournal  // the log of calls and charges
	StageExport   // their export to the database of the fleet
	StageLimiter  // limits that servers share
	StageAdmin    // the port of administration, if the previous server had it
)

// StartError is the error of a start, with its stage.
type StartError struct {
	Stage Stage
	Err   error
}

// Error returns the text of the cause alone, which names what failed.
func (failed *StartError) Error() string { return failed.Err.Error() }

// Unwrap returns the cause.
func (failed *StartError) Unwrap() error { return failed.Err }

// ErrNoKeys reports a keys file without keys.
var ErrNoKeys = errors.New("the keys file has none")

// open runs all stages.
func (n *Node) open(ctx context.Context) error {
	stages := []func(context.Context) error{
		StageControl:     n.openControl,
		StageKeys:        n.openKeys,
		StageCertificate: n.openCertificate,
		StagePorts:       n.openSockets,
		StagePublish:     n.publish,
		StageAccessLog:   n.openAccessLog,
		StageImages:      n.openImages,
		StageMirror:      n.openMirror,
		StageSnapshot:    n.openEngine,
		StageCursors:     n.openCursorKeys,
		StageJournal:     n.openJournal,
		StageExport:      n.openExport,
		StageLimiter:     n.openLimiter,
		StageAdmin:       n.openAdmin,
	}

	for stage, open := range stages {
		if err := open(ctx); err != nil {
			return &StartError{Stage(stage), err}
		}
	}
	return nil
}

// openKeys reads the keys: a server without any would refuse all callers.
func (n *Node) openKeys(context.Context) error {
	n.ring = n.Keys
	if n.ring != nil {
		return nil
	}
	plans, err := n.Config.PlanTable()
	if err != nil {
		return err
	}

	// Without keys every call would be refused: that is an error of the start.
	none := ErrNoKeys
	if n.fleet == nil {
		n.ring, err = keys.OpenRing(n.Config.State, plans)
	} else {
		err = n.fleet.keys.RememberRevocations(n.Config.State, Hostname(), eventLog{n.Log}.revocationsMissing)
		if err == nil {
			n.ring, err = keys.RingFrom(n.fleet.keys, plans)
		}
		none = fmt.Errorf("%s: %w", n.fleet.control, registry.ErrNoKeys)
	}
	if err == nil && n.ring.Len() == 0 {
		err = none
	}
	return err
}

func (n *Node) openCertificate(context.Context) (err error) {
	n.cert, err = Certificate(&n.Config)
	return err
}

// Certificate opens the certificate of the API, nil for plain HTTP.
func Certificate(config *settings.Config) (*certificate.Certificate, error) {
	if config.TLSCert == "" {
		return nil, nil
	}
	return certificate.Open(config.TLSCert, config.TLSKey)
}

func (n *Node) publish(context.Context) error {
	if n.Publish == nil {
		return nil
	}
	return n.Publish()
}

func (n *Node) openAccessLog(context.Context) (err error) {
	if n.Config.AccessLog != "" {
		n.access, err = accesslog.Open(n.Config.AccessLog, n.Config.AccessLogSample, n.Stdout, n.Log)
	}
	return err
}

// openImages opens the folder of card images, and the folder of their thumbnails.
func (n *Node) openImages(context.Context) (err error) {
	if n.Config.Images == "" {
		return nil
	}
	n.images, err = server.OpenImages(n.Config.Images)
	if err == nil {
		err = n.images.EnableThumbnails(cmp.Or(n.Config.ImageCache, filepath.Join(n.Config.State, "small-images")))
	}
	return err
}

// firstPullTimeout is how long a start waits for the store if an earlier snapshot is here to serve.
const firstPullTimeout = 5 * time.Second

// openMirror pulls the release if the snapshot store is a bucket. A start needs no network if
// an earlier snapshot is here.
func (n *Node) openMirror(ctx context.Context) error {
	if !n.Config.UsesBucket() {
		return nil
	}
	// The engine follows this folder like any other store.
	dir := snapshot.OpenStore(n.Config.StoreCache)
	follower, err := newFollower(&n.Config, n.fleet, n.Log)
	if err != nil {
		return err
	}
	n.mirror = follower
	_, none := dir.Current()
	if none == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, firstPullTimeout)
		defer cancel()
	}

	done, err := n.mirror.Pull(ctx)
	switch {
	case err == nil && done.Changed:
		n.Log.Info("snapshot is pulled", slog.String("snapshot_id", done.ID), slog.Uint64("epoch", done.Epoch),
			slog.String("publisher", done.By), slog.Int64("downloaded_bytes", done.Downloaded))
	// The earlier snapshot is served meanwhile, however old it is.
	case err != nil && none == nil:
		n.Log.Error("snapshot store away: serving the snapshot that was pulled last", slog.Any("cause", err))
	case err != nil:
		return fmt.Errorf("cannot serve without a snapshot: %w", err)
	}
	return nil
}

// newFollower returns the follower of the bucket of a configuration.
func newFollower(config *settings.Config, fleet *fleetNode, log *slog.Logger) (*mirror.Follower, error) {
	publishers, err := settings.ParsePublishers(config.Publishers)
	if err != nil {
		return nil, err
	}
	place, err := mirror.ParseLocation(config.Store)
	if err != nil {
		return nil, err
	}
	options := mirror.FollowerOptions{Publishers: publishers, RetainFor: cursor.Lifetime, Log: log}
	if fleet != nil {
		options.Floor = fleet.control.HighestEpoch
	}
	return mirror.NewFollower(mirror.Open(place), snapshot.OpenStore(config.StoreCache), options), nil
}

// openEngine loads the published snapshot.
func (n *Node) openEngine(context.Context) error {
	// The base URL in responses needs the port, so this comes after the listeners.
	store := snapshot.OpenStore(n.Config.StoreFolder())
	options := engine.Options{
		Site: n.site(), SearchCache: cacheBudget(memoryLimit()), Memory: memory, RunLoad: withExtraProc, Log: n.Log,
		Deltas: snapshot.DeltasOf(store).All,
	}
	if n.images != nil {
		options.Images = n.images.List
	}
	// A release is known before it is downloaded.
	if n.mirror != nil {
		options.RemoteStatus = func() engine.RemoteStatus {
			cur, asked := n.mirror.Published()
			return engine.RemoteStatus{Current: cur, Asked: asked}
		}
	}

	dir := cmp.Or(n.Config.BulkDir, filepath.Join(n.Config.State, "bulk"))
	n.bulk = bulk.New(bulk.Options{Dir: dir, Log: n.Log})
	swapped := make(chan struct{}, 1)
	options.Swapped = []chan<- struct{}{swapped, n.bulk.Wake}

	n.engine = engine.New(store, options)
	// It is closed even if nothing can be loaded.
	n.onClose(func() error { n.engine.Close(); return nil })

	err := n.engine.Open(time.Now())
	if err == nil && n.Config.Compat.PokemonTCG {
		openCompat(n, swapped)
	}
	return err
}

// handoverTimeout is how long a server with a passed socket waits for the previous server to
// release the state directory: the whole drain of that one, twice.
const handoverTimeout = 2 * (drainTimeout + settings.MaxLead)

// handoverInterval is the time between two tries.
const handoverInterval = 20 * time.Millisecond

// openJournal opens the log of calls and charges, which one process writes. A server with a passed
// socket replaces another one and waits for it; all others fail at once.
func (n *Node) openJournal(ctx context.Context) (err error) {
	// Nothing is written, so no other process can have a lock.
	if n.InMemory {
		n.store = access.NewMemory(access.MemoryOptions{MaxIdempotencyRecords: n.Config.MaxIdempotencyRecords})
		n.onClose(n.store.Close)
		return nil
	}

	begun := time.Now()
	for waiting := false; ; waiting = true {
		n.journal, err = access.OpenLocal(n.Config.State, access.LocalOptions{
			Now: n.clock.At(time.Now()), Report: eventLog{n.Log}.meteringChanged,
			MaxIdempotencyRecords: n.Config.MaxIdempotencyRecords,
			Export:                n.fleet != nil,
		})
		if err == nil {
			break
		}
		if !n.sockets.inherited || !errors.Is(err, statedir.ErrLocked) || time.Since(begun) > handoverTimeout {
			return err
		}

		// Logged once: now the previous server may be ended.
		if !waiting {
			n.Log.Info("waiting for the state directory")
			n.notify("STATUS=waiting for the state directory")
		}
		select {
		case <-time.After(handoverInterval):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}

	// Closing the store writes what is still in memory.
	n.store = n.journal
	n.onClose(func() error { return n.store.Close() })
	n.logJournal()

	// Before the first export: a tenant may have been deleted while no server ran.
	if err := n.renameDeleted(); err != nil {
		n.Log.Warn("names of deleted tenants stay until the next checkpoint", slog.Any("cause", err))
	}
	return nil
}

// openLimiter shares the limits of tenants with all servers, if that is configured. The charges of
// calls stay in the journal of this server.
func (n *Node) openLimiter(ctx context.Context) error {
	if n.Config.Metering == "" {
		return nil
	}

	options, _, err := n.Config.FleetOptions()
	if err != nil {
		return err
	}

	options.ServerID, err = statedir.ServerID(n.Config.State)
	if err != nil {
		return err
	}
	// Charges are recorded here, where no other server can lose them.
	options.UsageLog = n.journal
	options.Now = func() access.Instant { return n.clock.At(time.Now()) }
	options.Report = eventLog{n.Log}.limiterChanged
	options.ChargesByServer = n.fleet.control.ChargesByTenant

	n.limiter, err = limiter.Open(ctx, options)
	if err == nil {
		n.store = n.limiter
	}
	return err
}

// logJournal logs how many idempotent replies are stored at most, which plans may make more, and
// problems of the log.
func (n *Node) logJournal() {
	plans, _ := n.Config.PlanTable() // an error would have ended the start
	more := []string{}
	for _, name := range plans.Names() {
		if plans[name].PerMinute*10 > n.Config.MaxIdempotencyRecords {
			more = append(more, name)
		}
	}
	n.Log.Info("idempotent responses are stored for ten minutes: as many as the plan makes, at most replies_max",
		slog.Int("replies_max", n.Config.MaxIdempotencyRecords), slog.Any("plans_that_make_more", more))

	// Both are known after the log was read.
	stats := n.store.Stats()
	if stats.LogTorn > 0 {
		n.Log.Warn("the metering log had a torn end: its last records were never acknowledged",
			slog.Int("dropped_records", stats.LogTorn))
	}
	if stats.LogUnmapped != nil {
		n.Log.Info("the metering log is not memory-mapped: each request costs a system call more",
			slog.Any("cause", stats.LogUnmapped))
	}
}
