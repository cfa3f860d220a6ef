package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access/keys"
	"ninepocket/internal/settings"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/node"
	"ninepocket/operate"
	"ninepocket/snapshot"
)

func demoCommand() *cobra.Command {
	config := settings.Default()
	cards := 20_000
	seed := uint64(1)
	date := ""
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Serve a synthetic catalog of both games with ready keys",
		Long: `Generates a catalog with every kind of card, price and product, builds a snapshot of it through the real
loader, and serves it. The same seed and date make the same catalog. Nothing is kept.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cards == 0 {
				// 0 would mean the default number.
				return fail(exitUsage, "", errors.New("cannot make the demo: cards 0 is not enough"))
			}

			at, err := demoInstant(date, time.Now())
			catalog := synth.Options{Cards: cards, Seed: seed, SnapshotAt: at}
			if err := errors.Join(err, config.Validate(), catalog.Validate()); err != nil {
				return fail(exitUsage, "", fmt.Errorf("cannot make the demo: %w", err))
			}
			return withHint(demo(cmd, config, catalog), nil, "")
		},
	}

	f := cmd.Flags()
	f.IntVar(&cards, "cards", cards, "how many cards")
	f.Uint64Var(&seed, "seed", seed, "seed of the catalog")
	f.StringVar(&date, "date", date, "`YYYY-MM-DD`, the last day with prices (default today in UTC)")
	addFlags(cmd, &config, "listen", "admin", "ready_file")
	return cmd
}

// demoHour is the UTC hour at which the prices of the demo's last day were collected.
const demoHour = 2

// demoInstant returns the instant that the demo's catalog describes: on the given day, else on the
// last day whose prices are collected by now, so that no page warns of old prices.
func demoInstant(date string, now time.Time) (time.Time, error) {
	day := now.UTC().Add(-demoHour * time.Hour)
	if date != "" {
		asked, err := time.Parse(time.DateOnly, date)
		if err != nil {
			return time.Time{}, fmt.Errorf("date %q is not a day such as 2026-08-22", date)
		}
		day = asked
	}
	return time.Date(day.Year(), day.Month(), day.Day(), demoHour, 0, 0, 0, time.UTC), nil
}

func demo(cmd *cobra.Command, config settings.Config, catalog synth.Options) error {
	folder, err := os.MkdirTemp("", "ninepocket-demo-")
	if err != nil {
		return fmt.Errorf("cannot make a folder for the demo: %w", err)
	}
	// Remaining files are in the temporary folder.
	defer func() { _ = os.RemoveAll(folder) }()

	// Keys and limits are in memory, the cursor secret in the folder: all end with the process.
	file, texts, err := demoKeys(time.Now())
	if err != nil {
		return err
	}
	plans := keys.DefaultPlans()
	// A plan without practical limits.
	plans.Set("preview_bench", keys.Plan{PerMinute: 1_000_000, PerDay: 1_000_000_000, Credits: 1_000_000_000})
	ring, err := keys.FixedRing(file, plans)
	if err != nil {
		return err
	}

	config.Store = filepath.Join(folder, "store")
	config.State = folder
	config.Compat.PokemonTCG = true
	o := nodeOptions(cmd, config)
	o.InMemory = true
	o.Keys = ring
	// A port in use is reported before a catalog is built.
	o.Publish = func() error { return buildDemo(cmd, folder, config.Store, catalog) }
	o.Ready = func(ready *node.ReadyFile) {
		// The ready file of a demo has its keys, which are no secrets.
		ready.Keys = texts
		printDemo(cmd, ready)
	}

	err = node.Serve(cmd.Context(), o)
	// The most likely error is that the default port is in use.
	if failed, ok := errors.AsType[*node.StartError](err); ok && failed.Stage == node.StagePorts {
		return fail(exitFailure, "another program may hold the port: try --listen 127.0.0.1:0 --admin 127.0.0.1:0", err)
	}
	return serveFailure(err, &config)
}

// buildDemo generates the catalog and builds it with the real loader and store.
func buildDemo(cmd *cobra.Command, folder, store string, catalog synth.Options) error {
	start := time.Now()
	progress := newProgress(cmd)
	defer progress.Stop()
	progress.Update(fmt.Sprintf("generating %d cards", catalog.Cards), 0, 0)
	raw := filepath.Join(folder, "catalog")
	if err := synth.Write(raw, catalog); err != nil {
		return fmt.Errorf("cannot generate the demo: %w", err)
	}

	build := operate.Build{Store: store, Companion: true, Options: loader.Options{
		Sources: []loader.Input{{Kind: "native", Path: raw}}, Progress: progress.Update,
	}}
	made, err := build.Run(cmd.Context())
	if err != nil {
		return err
	}
	// The raw catalog is several times larger than the snapshot.
	if err := os.RemoveAll(raw); err != nil {
		return err
	}

	// The demo generates its catalog, so it needs no check.
	unchecked := func(*snapshot.Catalog) error { return nil }
	_, err = snapshot.OpenStore(store).Publish(made.ID, snapshot.PublishOptions{Now: time.Now(), Check: unchecked})
	if err != nil {
		return err
	}

	progress.Stop()
	cmd.PrintErrf("built %d sets, %d cards, %d products, %d prices a day over 365 days in %.1f s\n",
		made.Counts.Sets, made.Counts.Cards, made.Counts.Products, made.Counts.Lanes, time.Since(start).Seconds())
	return nil
}

// demoKeys creates the keys of the demo: a tenant for each live key.
func demoKeys(now time.Time) (*keys.File, map[string]string, error) {
	file := keys.NewFile()
	texts := map[string]string{}
	// So few that a trial uses them up and sees the refusal.
	credits := new(int64(5))
	for _, want := range []keys.NewKey{
		{Name: "free", Tenant: "demo-free", Surface: keys.Live, Plan: "free"},
		{Name: "starter", Tenant: "demo-starter", Surface: keys.Live, Plan: "starter"},
		{Name: "pro", Tenant: "demo-pro", Surface: keys.Live, Plan: "pro"},
		{Name: "business", Tenant: "demo-business", Surface: keys.Live, Plan: "business"},
		{Name: "bench", Tenant: "demo-bench", Surface: keys.Live, Plan: "unlimited"},
		{Name: "sandbox", Tenant: "demo-sandbox", Surface: keys.Sandbox, Plan: "free"},
		{Name: "revoked", Tenant: "demo-revoked", Surface: keys.Live, Plan: "free"},
		{Name: "preview", Tenant: "demo-preview", Surface: keys.Preview, Plan: "preview"},
		{
			Name: "preview_catalog", Tenant: "demo-preview", Surface: keys.Preview, Plan: "preview",
			Scopes: keys.CatalogRead,
		},
		{Name: "preview_small", Tenant: "demo-preview-small", Surface: keys.Preview, Plan: "preview", Credits: credits},
		{Name: "preview_bench", Tenant: "demo-preview-bench", Surface: keys.Preview, Plan: "preview_bench"},
		{Name: "preview_rival", Tenant: "demo-preview-rival", Surface: keys.Preview, Plan: "preview"},
	} {
		made, text, err := file.Create(want, now)
		if err != nil {
			return nil, nil, fmt.Errorf("cannot make demo key %q: %w", want.Name, err)
		}

		texts[want.Name] = text
		if want.Name == "revoked" {
			if _, err := file.Revoke(made.ID, now); err != nil {
				return nil, nil, err
			}
		}
	}
	return file, texts, nil
}

func printDemo(cmd *cobra.Command, ready *node.ReadyFile) {
	_, _ = fmt.Fprintf(cmd.OutOrStdout(), `
API      %[1]s
Admin    %[2]s
Site     %[1]s/            (reference: %[1]s/docs)
OpenAPI  %[1]s/openapi.json
Key      %[3]s   (live, plan pro; --ready-file has one of every kind)
Preview  %[5]s   (of a partner: typed products, batches for credits)

Try:     curl -s -H 'X-API-Key: %[3]s' '%[1]s/v1/cards?q=charizard&limit=3'

MCP:     claude mcp add --transport http ninepocket %[4]s --header "Authorization: Bearer %[3]s"

Ctrl-C stops; nothing is kept.
`, ready.API, ready.Admin, ready.Keys["pro"], ready.MCP, ready.Keys["preview"])
}
