package node

import (
	"context"
	"log/slog"
	"time"

	"ninepocket/fleet/mirror"
	"ninepocket/internal/notify"
	"ninepocket/internal/settings"
	"ninepocket/snapshot"
)

// NewFollower returns the follower of the bucket of a configuration.
func NewFollower(config *settings.Config, retainFor time.Duration, log *slog.Logger) (*mirror.Follower, error) {
	publishers, err := settings.ParsePublishers(config.Publishers)
	if err != nil {
		return nil, err
	}
	place, err := mirror.ParseLocation(config.Store)
	if err != nil {
		return nil, err
	}
	return mirror.NewFollower(mirror.Open(place), snapshot.OpenStore(config.StoreCache), mirror.FollowerOptions{
		Publishers: publishers, RetainFor: retainFor, Log: log,
	}), nil
}

// NewSender returns the sender of the hooks of a configuration; follower is nil without a bucket.
func NewSender(
	config *settings.Config, follower *mirror.Follower, ledger notify.Ledger, log *slog.Logger,
) *notify.Sender {
	store := snapshot.OpenStore(config.StoreFolder())
	at, timed := config.Serve.PublishesAt()
	sender := &notify.Sender{
		Options: config.Notify, Schedule: notify.Schedule{PublishesAt: at, Timed: timed}, Store: store,
		Source: store.Events(), Ledger: ledger, Client: notify.NewClient(), Now: time.Now, Log: log,
	}
	if follower != nil {
		sender.Source = follower
	}
	return sender
}

const (
	// hooksInterval is the time between two looks for events in a folder; in a bucket it is longer.
	hooksInterval       = 5 * time.Second
	hooksBucketInterval = 30 * time.Second
	// factsInterval is the time between two looks at what the store records.
	factsInterval = 5 * time.Second
)

// openHooks makes the sender of hooks, if there are some.
func (n *Node) openHooks() {
	if !n.Config.Notify.Enabled() || n.InMemory {
		return
	}
	var ledger notify.Ledger = notify.FileLedger(n.Config.State)
	if n.fleet != nil {
		shared := n.fleet.control.HookLedger()
		n.onClose(func() error { shared.Close(); return nil })
		ledger = shared
	}
	n.hooks = NewSender(&n.Config, n.mirror, ledger, n.Log)
}

// sendHooks sends hooks until ctx is done. The drain waits for none of them.
func (n *Node) sendHooks(ctx context.Context) {
	interval := hooksInterval
	if n.mirror != nil {
		interval = hooksBucketInterval
	}
	runOrAbandon(ctx, func(ctx context.Context) { n.hooks.Run(ctx, interval) })
}

// storeFacts are what the store records, for the metrics.
type storeFacts struct {
	daily       snapshot.DailyRun
	publishedAt time.Time
	refusedAt   map[string]time.Time // the last refusal, by guard
}

// watchStore reads what the store records until ctx is done. A scrape must not wait for a mount.
func (n *Node) watchStore(ctx context.Context) {
	store := snapshot.OpenStore(n.Config.StoreFolder())
	runOrAbandon(ctx, func(ctx context.Context) {
		for ctx.Err() == nil {
			facts := storeFacts{refusedAt: map[string]time.Time{}}
			facts.daily, _ = snapshot.LastDaily(store) // none, or damaged: the next day replaces it
			cur, _ := store.Current()
			facts.publishedAt = cur.PublishedAt
			for _, refusal := range store.Refusals() {
				for _, guard := range refusal.Guards {
					facts.refusedAt[guard.Name] = refusal.At
				}
			}

			n.facts.Store(&facts)
			select {
			case <-ctx.Done():
			case <-time.After(factsInterval):
			}
		}
	})
}

// facts sends the metrics of what the store records.
func (out sink) facts(facts *storeFacts) {
	if run := facts.daily; run.Verdict != "" {
		gauge(out, "daily_last_run_timestamp_seconds", "When the last day's work ended.", run.At.Unix())
		gauge(out, "daily_last_run_duration_seconds", "How long the last day's work took.", run.Seconds)
		gauge(out, "daily_last_run_verdict", "Always 1; the label tells how the last day's work ended.", 1,
			"verdict", run.Verdict)
	}
	gauge(out, "snapshot_published_timestamp_seconds", "When the current snapshot was published.",
		max(0, facts.publishedAt.Unix()))
	for name, at := range facts.refusedAt {
		gauge(out, "snapshot_refusal_timestamp_seconds", "When a guard last refused a snapshot.", at.Unix(),
			"guard", name)
	}
}

// hooks sends the metrics of hooks.
func (out sink) hooks(stats notify.Stats, now time.Time) {
	const tries = "Tries to send an event, by result; lost is an event that nobody took within three days."
	counter(out, "hook_deliveries_total", tries, stats.Sent, "result", "sent")
	counter(out, "hook_deliveries_total", tries, stats.Failed, "result", "failed")
	counter(out, "hook_deliveries_total", tries, stats.Lost, "result", "lost")
	oldest := 0.0
	if !stats.Oldest.IsZero() {
		oldest = now.Sub(stats.Oldest).Seconds()
	}
	gauge(out, "hook_oldest_waiting_seconds", "Age of the oldest event that was not taken yet; 0 without one.", oldest)
}
