package node

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/notify"
	"ninepocket/internal/settings"
	"ninepocket/snapshot"
)

const (
	// hooksInterval is the time between two looks for events in a folder; in a bucket it is longer.
	hooksInterval       = 2 * time.Second
	hooksBucketInterval = 30 * time.Second
	// factsInterval is the time between two looks at what the store records.
	factsInterval = 5 * time.Second
)

// openHooks makes the sender of hooks, if there are some.
func (n *Node) openHooks() {
	config := &n.Config
	if !config.Notify.Enabled() || n.InMemory {
		return
	}
	store := snapshot.OpenStore(config.StoreFolder())
	at, timed := config.Serve.PublishesAt()
	n.hooks = &notify.Sender{
		Options: config.Notify, Schedule: notify.Schedule{PublishesAt: at, Timed: timed}, Store: store,
		Source: store.Events(), Ledger: notify.FileLedger(config.State), Client: notify.NewClient(), Now: time.Now,
		Log: n.Log, Interval: hooksInterval,
	}

	// Servers of a fleet share the published and the sent events.
	if n.mirror != nil {
		n.hooks.Source = n.mirror
		n.hooks.Interval = hooksBucketInterval
	}
	if n.fleet != nil {
		n.hooks.Ledger = n.fleet.control.HookLedger()
	}
}

// SendHooks tries every event that is due once, where no server runs.
func SendHooks(ctx context.Context, config settings.Config, log *slog.Logger) (stats notify.Stats, err error) {
	config.Fleet.KeysMaxAge = "0s" // what was sent stands in the database alone
	n := &Node{Options: Options{Config: config, Log: log}}
	err = n.openControl(ctx)
	if err == nil && n.fleet == nil {
		var lock *statedir.Lock
		lock, err = statedir.LockState(config.State, 0)
		if err == nil {
			n.onClose(lock.Unlock)
		}
	}
	if err == nil && config.UsesBucket() {
		n.mirror, err = newFollower(&config, nil, log)
	}

	if err == nil {
		n.openHooks()
		defer n.hooks.Ledger.Close()
		err = n.hooks.Pass(ctx)
		stats = n.hooks.Stats()
	}
	return stats, errors.Join(err, n.close())
}

// TestHooks sends an event of its own to everybody, and returns who took it.
func TestHooks(ctx context.Context, config settings.Config, log *slog.Logger) (took []string, err error) {
	n := &Node{Options: Options{Config: config, Log: log}}
	n.openHooks()
	return n.hooks.Test(ctx)
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
	for ctx.Err() == nil {
		facts := storeFacts{refusedAt: map[string]time.Time{}}
		// A missing or damaged file has no metrics; the next day replaces it.
		facts.daily, _ = snapshot.LastDaily(store)
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
}

// facts sends the metrics of what the store records.
func (out sink) facts(facts *storeFacts) {
	if run := facts.daily; run.Verdict != "" {
		gauge(out, "daily_last_run_timestamp_seconds", "When the last day's work ended.", run.At.Unix())
		gauge(out, "daily_last_run_duration_seconds", "How long the last day's work took.", run.Seconds)
		gauge(out, "daily_last_run_verdict", "Always 1; the label names the result of the last day's work.", 1,
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
