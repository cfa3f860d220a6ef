package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"ninepocket/access"
	"ninepocket/engine"
	"ninepocket/snapshot"
)

func serveCommand() *cobra.Command {
	var path string
	flags := defaultConfig()
	cmd := &cobra.Command{
		Use:   "serve --store DIR --state DIR",
		Short: "Serve the published snapshot and follow the store",
		Long: "Serves the current snapshot of a store and follows it: what is published next is live within seconds,\n" +
			"without a restart. SIGTERM drains, SIGHUP re-reads keys and plans and re-checks the store.\n\n" +
			"Every flag is also a key of the TOML file (--config) and an environment variable: --base-url is base_url\n" +
			"and NINEPOCKET_BASE_URL. Flags win over the environment, the environment over the file.",
		Example: "  ninepocket serve --store /var/lib/ninepocket/store --state /var/lib/ninepocket/state --listen :8080",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			read := func() (config, error) {
				c, err := readConfig(path, os.Environ(), func(name string) {
					_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "note: environment variable %s is not a setting of ninepocket\n", name)
				})
				if err != nil {
					return c, err
				}
				for name, field := range map[string][2]*string{
					"store": {&c.Store, &flags.Store}, "state": {&c.State, &flags.State}, "listen": {&c.Listen, &flags.Listen},
					"admin": {&c.Admin, &flags.Admin}, "ready-file": {&c.ReadyFile, &flags.ReadyFile},
					"base-url": {&c.BaseURL, &flags.BaseURL}, "site-url": {&c.SiteURL, &flags.SiteURL},
					"log-format": {&c.LogFormat, &flags.LogFormat}, "images": {&c.Images, &flags.Images},
				} {
					if cmd.Flags().Changed(name) {
						*field[0] = *field[1]
					}
				}
				if cmd.Flags().Changed("no-site") {
					c.NoSite = flags.NoSite
				}
				err = c.validate()
				return c, err
			}
			c, err := read()
			if err != nil {
				return fail(exitUsage, "", err)
			}
			if c.Store == "" || c.State == "" {
				return fail(exitUsage, "give --store DIR and --state DIR", errors.New("cannot serve: the store or the state directory is not given"))
			}
			return serve(cmd, c, read)
		},
	}
	f := cmd.Flags()
	f.StringVar(&path, "config", "", "TOML configuration `FILE`")
	f.StringVar(&flags.Store, "store", "", "snapshot store `DIR`")
	f.StringVar(&flags.State, "state", "", "`DIR` with keys and metering; one server at a time")
	f.StringVar(&flags.Listen, "listen", flags.Listen, "`ADDRESS` of the API")
	f.StringVar(&flags.Admin, "admin", flags.Admin, "`ADDRESS` of the admin listener")
	f.StringVar(&flags.ReadyFile, "ready-file", "", "write this `PATH` once requests are served")
	f.StringVar(&flags.BaseURL, "base-url", "", "`URL` that clients reach the API by (default: the listen address)")
	f.StringVar(&flags.SiteURL, "site-url", "", "`URL` of the site that card and set pages are on (default: the base URL)")
	f.StringVar(&flags.Images, "images", "", "`DIR` with card images, by the names that the catalog gives")
	f.BoolVar(&flags.NoSite, "no-site", false, "serve no public pages")
	f.StringVar(&flags.LogFormat, "log-format", flags.LogFormat, "text or json")
	return cmd
}

// serve runs until the command is done; reread gives the configuration as it is then.
func serve(cmd *cobra.Command, c config, reread func() (config, error)) error {
	log := newLog(cmd.ErrOrStderr(), c.LogFormat)
	plans, err := c.plans()
	if err != nil {
		return fail(exitUsage, "", err)
	}
	now := time.Now()
	clock := access.StartClock(now)
	ring, err := access.OpenKeyRing(c.State, plans)
	if errors.Is(err, access.ErrNoKeysFile) || err == nil && ring.Len() == 0 {
		return fail(exitNotReady, "run: ninepocket keys create --state "+c.State+" --tenant NAME --surface live --plan free",
			fmt.Errorf("cannot serve without keys: %w", errors.Join(err)))
	}
	if err != nil {
		return fail(exitNotReady, "", err)
	}
	api, admin, err := c.listeners()
	if err != nil {
		return fail(exitFailure, "another program may hold the port; port 0 picks a free one", err)
	}
	images, err := c.openImages()
	if err != nil {
		return fail(exitFailure, "", err)
	}
	eng := engine.New(snapshot.OpenDir(c.Store), engine.Options{
		Site: c.site(c.baseURL(api)), Images: imageLists(images), SearchCache: searchCache, Log: log,
	})
	defer eng.Close()
	if err := eng.Open(now); err != nil {
		return fail(exitNotReady, "run: ninepocket snapshot build --store "+c.Store+" --source KIND:PATH --publish",
			fmt.Errorf("cannot serve without a snapshot: %w", err))
	}
	cursors, err := openCursors(c.State)
	if err != nil {
		return fail(exitFailure, "", err)
	}
	store, err := access.OpenEmbedded(c.State, access.EmbeddedOptions{
		Now: clock.At(now), Report: func(err error) { log.Error("metering is down", slog.Any("cause", err)) },
	})
	if err != nil {
		return fail(exitFailure, "one state directory serves one process", err)
	}
	s := &service{config: c, engine: eng, images: images, ring: ring, store: store, clock: clock, cursors: cursors, log: log}
	s.ready = func(r readyFile) error {
		log.Info("serving", slog.String("api", r.API), slog.String("admin", r.Admin), slog.String("snapshot_id", r.SnapshotID))
		return writeReadyFile(c.ReadyFile, r)
	}
	s.reload = func() error {
		fresh, err := reread()
		if err == nil {
			var changed access.Plans
			if changed, err = fresh.plans(); err == nil {
				err = ring.SetPlans(changed)
			}
		}
		_, badKeys := ring.Reload() // also when the configuration cannot be read
		return errors.Join(err, badKeys)
	}
	if err := s.run(cmd.Context(), api, admin); err != nil {
		return fail(exitFailure, "", fmt.Errorf("cannot serve: %w", err))
	}
	return nil
}

// newLog writes text for people or JSON for machines.
func newLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	f, ok := w.(*os.File)
	color := ok && term.IsTerminal(int(f.Fd()))
	return slog.New(tint.NewTextHandler(w, &tint.Options{NoColor: !color, TimeFormat: time.RFC3339}))
}
