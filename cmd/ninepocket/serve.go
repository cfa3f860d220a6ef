package main

import (
	"crypto/tls"
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
	"ninepocket/internal/systemd"
	"ninepocket/snapshot"
)

func serveCommand() *cobra.Command {
	var flags *configFlags
	cmd := &cobra.Command{
		Use:   "serve --store DIR --state DIR",
		Short: "Serve the published snapshot and follow the store",
		Long: "Serves the current snapshot of a store and follows it: what is published next is live within " +
			"seconds,\n" +
			"without a restart. SIGTERM drains, a second one ends at once; SIGHUP re-reads keys, plans and the " +
			"certificate\n" +
			"and re-checks the store.\n\n" +
			"Every flag is also a key of the TOML file (--config) and an environment variable: --base-url is " +
			"base_url\n" +
			"and NINEPOCKET_BASE_URL. Flags win over the environment, the environment over the file.",
		Example: "  ninepocket serve --store /var/lib/ninepocket/store --state /var/lib/ninepocket/state " +
			"--listen :8080",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := flags.read()
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			if err := c.missing(); err != nil {
				return fail(exitUsage, "give --store DIR and --state DIR", err)
			}
			return serve(cmd, c.config, flags.read)
		},
	}

	flags = addConfigFlags(cmd)
	return cmd
}

// serve runs until the command is done; reread gives the configuration as it is then.
func serve(cmd *cobra.Command, c config, reread func() (layered, error)) error {
	log := newLog(cmd.ErrOrStderr(), c.LogFormat)
	logMemory(log)
	plans, err := c.plans()
	if err != nil {
		return fail(exitUsage, "", err)
	}

	// The clock of all requests begins here, so that limits count in one time.
	now := time.Now()
	clock := access.StartClock(now)
	ring, err := access.OpenKeyRing(c.State, plans)
	if errors.Is(err, access.ErrNoKeysFile) || err == nil && ring.Len() == 0 {
		return fail(exitNotReady,
			"run: ninepocket keys create --state "+c.State+" --tenant NAME --surface live --plan free",
			fmt.Errorf("cannot serve without keys: %w", errors.Join(err)))
	}
	if err != nil {
		return fail(exitNotReady, keysHint(c.State, err), err)
	}

	// A certificate that cannot be used ends the start before a port is taken.
	cert, err := c.certificate()
	if err != nil {
		return fail(exitFailure, "", err)
	}

	api, admin, err := c.listeners()
	if err != nil {
		return fail(exitFailure, "another program may hold the port; port 0 picks a free one", err)
	}

	images, err := c.openImages()
	if err != nil {
		return fail(exitFailure, "", err)
	}

	// The base URL of answers needs the port, so the engine comes after the listeners.
	eng := engine.New(snapshot.OpenDir(c.Store), engine.Options{
		Site: c.site(c.baseURL(api)), Images: imageLists(images), SearchCache: searchCache, Memory: memory,
		Aside: aside, Log: log,
	})
	defer eng.Close()
	if err := eng.Open(now); err != nil {
		return fail(exitNotReady, "run: ninepocket snapshot build --store "+c.Store+" --source KIND:PATH --publish",
			fmt.Errorf("cannot serve without a snapshot: %w", err))
	}

	// Keys and cursors are read; the metering log is the first thing to be written.
	cursors, err := openCursors(c.State)
	if err != nil {
		return err
	}

	store, err := access.OpenEmbedded(c.State, access.EmbeddedOptions{
		Now: clock.At(now), Report: func(err error) { log.Error("metering is down", slog.Any("cause", err)) },
	})
	if err != nil {
		return fail(exitFailure, "one state directory serves one process", err)
	}
	if cause := store.Stats().LogUnmapped; cause != nil {
		log.Info("the metering log is written and not mapped: a request costs a system call more",
			slog.Any("cause", cause))
	}

	// A server does not fail because nobody listens to it.
	notify, err := systemd.Open()
	if err != nil {
		log.Error("notifications are off", slog.Any("cause", err))
	}
	s := &service{
		config: c, engine: eng, images: images, ring: ring, store: store, clock: clock, cursors: cursors, log: log,
		cert: cert, notify: notify,
	}
	s.ready = func(r readyFile) error {
		log.Info("serving", slog.String("api", r.API), slog.String("admin", r.Admin),
			slog.String("snapshot_id", r.SnapshotID))
		return writeReadyFile(c.ReadyFile, r)
	}
	s.reload = func() error {
		fresh, err := reread()
		if err == nil {
			var changed access.Plans
			changed, err = fresh.plans()
			if err == nil {
				err = ring.SetPlans(changed)
			}
			// What a running server cannot take over is named, or an operator would wait for it.
			if keys := c.fixedChanges(&fresh.config); len(keys) > 0 {
				log.Warn("settings wait for a restart", slog.Any("keys", keys))
			}
		}

		// Also when the configuration cannot be read.
		_, badKeys := ring.Reload()
		return errors.Join(err, badKeys, s.reloadCertificate())
	}

	// From here on the API speaks TLS; the admin listener never does.
	if cert != nil {
		api = tls.NewListener(api, cert.Config())
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
