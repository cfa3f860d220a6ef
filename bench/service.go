package bench

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/server"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// benchPlan is the plan of the keys that measurements use.
const benchPlan = "bench"

// Service is an engine over a store with a gate that meters in memory.
type Service struct {
	Engine *engine.Engine
	Gate   *access.Gate
	Clock  access.Clock
}

// searchCache is the memory for remembered searches, as serve has it.
const searchCache = 64 << 20

// packCache is the memory for compressed bodies, as serve has it.
const packCache = 64 << 20

// OpenService serves a store's current snapshot to the keys of a state directory.
func OpenService(store, state, base string) (*Service, error) {
	now := time.Now()
	eng := engine.New(snapshot.OpenDir(store), engine.Options{
		Site: wire.Site{URL: base, ProductPrefix: "prd"}, SearchCache: searchCache,
	})

	if err := eng.Open(now); err != nil {
		eng.Close()
		return nil, err
	}

	// Its limits stop no measurement.
	ring, err := loadKeys(state)
	if err != nil {
		eng.Close()
		return nil, err
	}
	return &Service{
		Engine: eng, Gate: access.NewGate(ring, access.NewMemory(access.MemoryOptions{})),
		Clock: access.StartClock(now),
	}, nil
}

// serveMemory serves the store's current snapshot through the whole of package server, with
// metering in memory as the demo has it: beside serve it shows what keeping the meter on disk
// costs.
func (t *Task) serveMemory(ctx context.Context) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	base := "http://" + l.Addr().String()
	service, err := OpenService(t.Store, t.State, base)
	if err != nil {
		return err
	}
	defer service.Engine.Close()

	var key cursor.Key
	// Never fails.
	_, _ = rand.Read(key.Secret[:])
	cursors, err := cursor.NewSigner(key)
	if err != nil {
		return err
	}

	srv, err := server.New(server.Options{
		Engine: service.Engine, Gate: service.Gate, Clock: service.Clock, Cursors: cursors, PackCache: packCache,
		BaseURL: base,
		Preview: true,
	})
	if err != nil {
		return err
	}
	go func() { <-ctx.Done(); _ = srv.Shutdown(context.WithoutCancel(ctx)) }()
	if err := Announce(t.Ready, Ready{API: base}); err != nil {
		return err
	}
	return srv.Serve(l)
}

// writeKeys makes a state directory with one live and one preview key, and the configuration with
// their plan.
func writeKeys(state, config string) (Keys, error) {
	var made Keys
	now := time.Now()
	// More than any measurement takes.
	credits := int64(1) << 50
	err := keys.Update(state, func(keyFile *keys.File) error {
		var err error
		_, made.Live, err = keyFile.Create(keys.NewKey{Tenant: "bench-live", Kind: keys.Live, Plan: benchPlan}, now)
		if err != nil {
			return err
		}

		_, made.Preview, err = keyFile.Create(keys.NewKey{
			Tenant: "bench-preview", Kind: keys.Preview, Plan: benchPlan,
			Credits: &credits,
		}, now)
		return err
	})
	if err != nil {
		return made, err
	}

	const plan = "[plans." + benchPlan + "]\nper_minute = 10000000\nper_day = 1000000000000000\n"
	return made, os.WriteFile(config, []byte(plan), 0o600)
}

// loadKeys reads the keys of a state directory with plans that no measurement meets the limits of.
func loadKeys(state string) (*keys.Ring, error) {
	plans := keys.DefaultPlans()
	plans.Set(benchPlan, keys.Plan{PerMinute: 10_000_000, PerDay: 1 << 50, Credits: 1 << 50})
	if _, err := os.Stat(state); err != nil {
		return nil, err
	}
	return keys.OpenRing(state, plans)
}
