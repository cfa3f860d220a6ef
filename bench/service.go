package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ninepocket/access/keys"
	"ninepocket/internal/settings"
	"ninepocket/node"
)

// benchPlan is the plan of the keys that measurements use.
const benchPlan = "bench"

// siteURL is in the bulk files of a snapshot: with one for all servers of a measurement, the files are equal.
const siteURL = "http://localhost"

// The limits of that plan and of idempotent responses, which no measurement reaches.
const (
	perMinute  = 10_000_000
	perDay     = 1_000_000_000_000_000
	repliesMax = 1_000_000
)

// serveMemory serves the store's current snapshot as serve does, but with metering in memory. The
// difference to serve is the cost of metering on disk.
func (t *Task) serveMemory(ctx context.Context) error {
	config := settings.Default()
	config.Store = t.Store
	config.State = t.State
	config.Listen = "127.0.0.1:0"
	config.Admin = "127.0.0.1:0"
	config.ReadyFile = t.Ready
	config.SiteURL = siteURL
	config.MaxIdempotencyRecords = repliesMax
	config.Plans = map[string]*settings.Plan{benchPlan: {PerMinute: perMinute, PerDay: perDay}}
	return node.Serve(ctx, node.Options{
		Config: config, InMemory: true, Log: slog.New(slog.DiscardHandler), Ready: func(*node.ReadyFile) {},
	})
}

// writeKeys makes a state directory with one live and one preview key, and the configuration with
// their plan.
func writeKeys(state, config string) (Keys, error) {
	var made Keys
	now := time.Now()
	// More than any measurement uses.
	credits := int64(1) << 50
	err := keys.Update(state, func(keyFile *keys.File) error {
		var err error
		_, made.Live, err = keyFile.Create(keys.NewKey{Tenant: "bench-live", Surface: keys.Live, Plan: benchPlan}, now)
		if err != nil {
			return err
		}

		_, made.Preview, err = keyFile.Create(keys.NewKey{
			Tenant: "bench-preview", Surface: keys.Preview, Plan: benchPlan,
			Credits: &credits,
		}, now)
		return err
	})
	if err != nil {
		return made, err
	}

	text := fmt.Sprintf("site_url = %q\nreplies_max = %d\n[plans.%s]\nper_minute = %d\nper_day = %d\n",
		siteURL, repliesMax, benchPlan, perMinute, perDay)
	return made, os.WriteFile(config, []byte(text), 0o600)
}

// LoadKeys reads the keys of a state directory, with a plan whose limits no measurement reaches.
func LoadKeys(state string) (*keys.Ring, error) {
	plans := keys.DefaultPlans()
	plans.Set(benchPlan, keys.Plan{PerMinute: perMinute, PerDay: perDay})
	if _, err := os.Stat(state); err != nil {
		return nil, err
	}
	return keys.OpenRing(state, plans)
}
