package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ninepocket/access"
	"ninepocket/internal/settings"
	"ninepocket/node"
)

// benchPlan is the plan of the keys that measurements use.
const benchPlan = "bench"

// The limits of that plan stop no measurement.
const (
	perMinute = 10_000_000
	perDay    = 1_000_000_000_000_000
)

// serveMemory serves the store's current snapshot as serve does, with metering in memory: beside
// serve it shows what keeping the meter on disk costs.
func (t *Task) serveMemory(ctx context.Context) error {
	c := settings.Default()
	c.Store = t.Store
	c.State = t.State
	c.Listen = "127.0.0.1:0"
	c.Admin = "127.0.0.1:0"
	c.ReadyFile = t.Ready
	c.Plans = map[string]*settings.Plan{benchPlan: {PerMinute: perMinute, PerDay: perDay}}
	return node.Serve(ctx, node.Options{
		Config: c, Memory: true, Log: slog.New(slog.DiscardHandler), Ready: func(*node.ReadyFile) {},
	})
}

// writeKeys makes a state directory with one live and one preview key, and the configuration with
// their plan.
func writeKeys(state, config string) (Keys, error) {
	var keys Keys
	now := time.Now()
	// More than any measurement takes.
	credits := int64(1) << 50
	err := access.UpdateKeys(state, func(keyFile *access.KeyFile) error {
		var err error
		_, keys.Live, err = keyFile.Create(access.NewKey{Tenant: "bench-live", Kind: access.Live, Plan: benchPlan}, now)
		if err != nil {
			return err
		}

		_, keys.Preview, err = keyFile.Create(access.NewKey{
			Tenant: "bench-preview", Kind: access.Preview, Plan: benchPlan,
			Credits: &credits,
		}, now)
		return err
	})
	if err != nil {
		return keys, err
	}

	plan := fmt.Sprintf("[plans.%s]\nper_minute = %d\nper_day = %d\n", benchPlan, perMinute, perDay)
	return keys, os.WriteFile(config, []byte(plan), 0o600)
}

// LoadKeys reads the keys of a state directory with a plan that no measurement meets the limits of.
func LoadKeys(state string) (*access.KeyRing, error) {
	plans := access.DefaultPlans()
	plans.Set(benchPlan, access.Plan{PerMinute: perMinute, PerDay: perDay})
	if _, err := os.Stat(state); err != nil {
		return nil, err
	}
	return access.OpenKeyRing(state, plans)
}
