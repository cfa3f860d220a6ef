package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	neturl "net/url"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/accesslog"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/node"
	"ninepocket/snapshot"
)

func serveCommand() *cobra.Command {
	var flags *configFlags
	cmd := &cobra.Command{
		Use:   "serve --store DIR --state DIR",
		Short: "Serve the published snapshot and follow the store",
		Long: `Serves the current snapshot of a store and follows it: a new publication is live within seconds,
without a restart. SIGTERM drains, a second one ends at once; SIGHUP re-reads keys, plans and the certificate
and re-checks the store. A socket that a supervisor passes (LISTEN_FDS) is served in place of --listen, once the
server before has given up the state directory.

Every flag is also a key of the TOML file (--config) and an environment variable: --base-url is base_url
and NINEPOCKET_BASE_URL. Flags win over the environment, the environment over the file.`,
		Example: "  ninepocket serve --store /var/lib/ninepocket/store --state /var/lib/ninepocket/state " +
			"--listen :8080",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			if hint, unread := unreadableHint(err); unread {
				return fail(exitFailure, hint, err)
			}
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			if err := layered.MissingSettings(); err != nil {
				return fail(exitUsage, "give --store and --state; with s3://… also --store-cache and publishers", err)
			}
			return serve(cmd, flags, layered.Config)
		},
	}

	flags = addConfigFlags(cmd)
	return cmd
}

// serve runs until the command is done; flags read the current configuration for a reload.
func serve(cmd *cobra.Command, flags *configFlags, config settings.Config) error {
	node.PrepareProcess()
	o := nodeOptions(cmd, config)
	o.Reread = func() (settings.Config, error) {
		layered, err := flags.read()
		return layered.Config, err
	}
	o.Ready = func(ready *node.ReadyFile) {
		o.Log.Info("serving", slog.String("api", ready.API), slog.String("admin", ready.Admin),
			slog.String("snapshot_id", ready.SnapshotID))
	}
	node.LogMemory(o.Log)
	return serveFailure(node.Serve(cmd.Context(), o), &config)
}

// nodeOptions returns the options that all servers of this program share. The log and the command's
// notes go to its stderr, through a writer that never blocks.
func nodeOptions(cmd *cobra.Command, config settings.Config) node.Options {
	w := cmd.ErrOrStderr()
	lines := accesslog.NewAsyncWriter(w)
	log := term.NewLog(lines, config.LogFormat, term.Colourful(w))
	lines.OnResume = func(dropped uint64) {
		log.Warn("log output blocked: lines dropped", slog.Uint64("lines", dropped))
	}
	// Notes of the command must not block either.
	cmd.SetErr(lines)
	return node.Options{Config: config, Version: version, Log: log, LogWriter: lines, Stdout: cmd.OutOrStdout()}
}

// serveFailure gives an error of a server its exit code and hint, by the stage of the start.
func serveFailure(err error, config *settings.Config) error {
	failed, atStart := errors.AsType[*node.StartError](err)
	if !atStart {
		if err != nil {
			err = fmt.Errorf("cannot serve: %w", err)
		}
		return fail(exitFailure, "", err)
	}

	switch failed.Stage {
	case node.StageControl, node.StageKeys:
		return keysFailure(err, config)
	case node.StagePorts, node.StageAdmin:
		return withHint(err, portHints, "")
	case node.StageAccessLog:
		return fail(exitFailure, "", fmt.Errorf("cannot serve: the access log: %w", err))
	case node.StageMirror:
		failed := withMirrorHint(err, config.Store)
		return fail(exitNotReady, hintOf(failed), failed)
	case node.StageSnapshot:
		return snapshotFailure(config, err)
	case node.StageCursors:
		if errors.Is(err, access.ErrCorrupt) {
			return fail(exitRefused, "restore the file, or run: ninepocket state repair --state "+config.State+
				", which removes it: the next start makes another, and clients restart their pagination", err)
		}
		return stateFailure(err, config)
	case node.StageJournal, node.StageExport:
		return stateFailure(err, config)
	case node.StageLimiter:
		return fail(exitNotReady, "run: ninepocket fleet check --metering URL", err)
	case node.StageCertificate, node.StagePublish, node.StageImages:
	}
	return withHint(err, nil, "")
}

// keysFailure gives the error of a start without keys its exit code and hint. A directory whose
// disk is not mounted yet looks like a new one, so the hint mentions both.
func keysFailure(err error, config *settings.Config) error {
	failed := stateFailure(err, config)
	if config.Control != "" || isAny(err, node.ErrNoKeys, keys.ErrNoFile, keys.ErrShared) {
		return fail(exitNotReady, hintOf(failed), fmt.Errorf("cannot serve without keys: %w", err))
	}
	return failed
}

// stateFailure gives an error of the state directory or of the control database its exit code and
// hint.
func stateFailure(err error, config *settings.Config) error {
	if slices.ContainsFunc(controlHints, func(known errorHint) bool { return isAny(err, known.errs...) }) {
		return withHint(err, controlHints, settings.Redact(config.Control))
	}
	return withHint(err, stateHints, config.State)
}

// snapshotFailure gives the error of a start without a snapshot its exit code and hint. The code is
// exitNotReady, unless the system refused to read the store.
func snapshotFailure(config *settings.Config, err error) error {
	folder := config.StoreFolder()
	hint := "run: ninepocket snapshot build --store " + folder + " --source KIND:PATH --publish"
	cannot := func(err error) error { return fmt.Errorf("cannot serve without a snapshot: %w", err) }
	if !errors.Is(err, snapshot.ErrNoCurrent) {
		_, hint = findHint(err, storeHints, folder)
		if _, refused := errors.AsType[syscall.Errno](err); refused && !errors.Is(err, snapshot.ErrNoStore) {
			return fail(exitFailure, hint, cannot(err))
		}
		return fail(exitNotReady, hint, cannot(err))
	}

	// Nothing is published in the folder of a disk that is not mounted yet, nor in a store whose
	// CURRENT was removed, and may be restored.
	store := snapshot.OpenStore(folder)
	absent := store.Exists()
	if absent == nil && store.EverPublished() {
		absent = err
	}
	if absent != nil {
		_, hint = findHint(absent, storeHints, folder)
		err = absent
	}
	return fail(exitNotReady, hint, cannot(err))
}

func healthcheckCommand() *cobra.Command {
	var url, path string
	schemes := []string{"http", "https"}
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Check that a running server is ready; exit 0 if it is", Args: cobra.NoArgs,
		Long: "Asks /readyz of the admin listener that file and environment configure, or the URL of --url.\n" +
			"It needs no shell and no curl, so that a container of the binary alone can check its own health.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				layered, err := settings.ReadWithEnv(path)
				if err != nil {
					return fail(exitUsage, "", err)
				}
				url = "http://" + node.Loopback(layered.Admin) + "/readyz"
			} else if u, err := neturl.Parse(url); err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
				const text = "cannot use --url %q: want http://HOST or https://HOST, with a path"
				return fail(exitUsage, "", fmt.Errorf(text, settings.Redact(url)))
			}

			// A new connection: an open one would not show that the server no longer accepts.
			transport := &http.Transport{DisableKeepAlives: true}
			if err := node.CheckHealth(cmd.Context(), transport, url); err != nil {
				return fail(exitFailure, "", fmt.Errorf("cannot find the server healthy: %w", err))
			}
			return nil
		},
	}

	cmd.Flags().StringVar(&url, "url", "", "ask this `URL` for 200 (default: /readyz of the configured admin listener)")
	cmd.Flags().StringVar(&path, "config", "", "TOML configuration `FILE`")
	return cmd
}

func notifyCommand() *cobra.Command {
	var path string
	var once, test bool
	cmd := &cobra.Command{
		Use: "notify --once|--test", Short: "Send waiting events to the hooks of [notify] without a server",
		Args: cobra.NoArgs,
		Long: "With --once it tries each event of the store that is not delivered yet, as a running server does by\n" +
			"itself, and ends: for a timer on a machine where no server runs. With --test it sends an event\n" +
			"\"notify.test\" to the webhook and the command, and says who took it.\n\n" +
			"Exit codes: 0 all events were taken, 1 an event was not taken, 2 a mistake in the configuration.",
		Example: "  ninepocket notify --test --config /etc/ninepocket/ninepocket.toml\n" +
			"  ninepocket notify --once --config /etc/ninepocket/ninepocket.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := settings.ReadWithEnv(path)
			wrong := settings.Problems{err, layered.Notify.Validate()}
			wrong.AddIf(once == test, "cannot notify: give either --once or --test")
			wrong.AddIf(err == nil && !layered.Notify.Enabled(),
				"cannot notify: notify.url and notify.command are not given")
			if once && err == nil {
				wrong.Add(layered.MissingSettings())
			}
			if err := wrong.Err(); err != nil {
				return fail(exitUsage, "set them in [notify] of --config; ninepocket config init has them all", err)
			}

			log := term.NewLog(cmd.ErrOrStderr(), layered.LogFormat, term.Colourful(cmd.ErrOrStderr()))
			if test {
				took, err := node.TestHooks(cmd.Context(), layered.Config, log)
				shown := printLine(cmd, took, "sent to: %s", cmp.Or(strings.Join(took, ", "), "nobody"))
				return errors.Join(fail(exitFailure, "look at the receiver, and at [notify]", err), shown)
			}
			stats, err := node.SendHooks(cmd.Context(), layered.Config, log)
			if err != nil {
				return stateFailure(err, &layered.Config)
			}
			err = printLine(cmd, stats, "%d sent, %d not taken, %d lost", stats.Sent, stats.Failed,
				stats.Lost)
			if stats.Failed+stats.Lost > 0 {
				err = fail(exitFailure, "the next run tries again", errors.New("cannot send all events: see above"))
			}
			return err
		},
	}

	f := cmd.Flags()
	f.StringVar(&path, "config", "", "TOML configuration `FILE` (default: $NINEPOCKET_CONFIG)")
	f.BoolVar(&once, "once", false, "try every event that is due once")
	f.BoolVar(&test, "test", false, "send a test event")
	f.Bool("json", false, "print JSON")
	return cmd
}
