package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/lmittmann/tint"
	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
	"ninepocket/internal/systemd"
	"ninepocket/server"
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
			"and re-checks the store. A socket that a supervisor passes (LISTEN_FDS) is served in place of --listen, " +
			"once the\n" +
			"server before has given up the state directory.\n\n" +
			"Every flag is also a key of the TOML file (--config) and an environment variable: --base-url is " +
			"base_url\n" +
			"and NINEPOCKET_BASE_URL. Flags win over the environment, the environment over the file.",
		Example: "  ninepocket serve --store /var/lib/ninepocket/store --state /var/lib/ninepocket/state " +
			"--listen :8080",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			layered, err := flags.read()
			if hint, unread := unreadable(err); unread {
				return fail(exitFailure, hint, err)
			}
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			if err := layered.missing(); err != nil {
				return fail(exitUsage, "give --store and --state; with s3://… also --store-cache and publishers", err)
			}
			return serve(cmd, layered.config, flags.read)
		},
	}

	flags = addConfigFlags(cmd)
	return cmd
}

// serve runs until the command is done; reread gives the configuration as it is then.
func serve(cmd *cobra.Command, c config, reread func() (layered, error)) error {
	// A runtime that fails ends the process with the code of a wrong configuration, which no service
	// manager tries again, unless it is told to end by a signal. That leaves no core file: keys are in
	// memory.
	debug.SetTraceback("crash")
	noCoreFile()
	// Who reads the log may go, as the system's journal does when it is restarted: the server does not
	// end with it. A service manager takes that signal for a wanted end.
	signal.Ignore(syscall.SIGPIPE)

	// The clock of all requests begins here, so that limits count in one time.
	now := time.Now()
	service := &service{config: c, clock: access.StartMachineClock()}
	service.logTo(cmd)
	service.reload = func() error { return service.takeOver(reread) }
	service.ready = func(r *readyFile) {
		service.log.Info("serving", slog.String("api", r.API), slog.String("admin", r.Admin),
			slog.String("snapshot_id", r.SnapshotID))
	}
	logMemory(service.log)

	// Keys and a certificate that cannot be used end the start before a port is taken.
	err := service.openControl(cmd.Context())
	if err != nil {
		return err
	}
	defer service.closeControl()
	err = service.openKeys()
	if err != nil {
		return err
	}

	service.cert, err = c.certificate()
	if err != nil {
		return fail(exitFailure, "", err)
	}

	all, err := c.sockets()
	if err != nil {
		return asFailure(err, portRemedies, "")
	}

	service.access, err = openAccessLog(&c, cmd.OutOrStdout(), service.log)
	if err != nil {
		return fail(exitFailure, "", fmt.Errorf("cannot serve: the access log: %w", err))
	}
	if c.Images != "" {
		service.images, err = openImages(&c)
	}
	if err != nil {
		return fail(exitFailure, "", err)
	}

	if err := service.openMirror(cmd.Context()); err != nil {
		return err
	}

	service.engine = service.newEngine(snapshot.OpenDir(c.storeFolder()), all.api)
	defer service.engine.Close()
	if err := service.engine.Open(now); err != nil {
		return c.noSnapshot(err)
	}

	// Without a service manager it serves all the same.
	service.notify, err = systemd.Open()
	if err != nil {
		service.log.Error("notifications are off", slog.Any("cause", err))
	}

	// All that can be read is read: the state is the first thing to be written.
	if err := service.openStateInTurn(cmd.Context(), all.given); err != nil {
		return err
	}
	return service.serveOn(cmd.Context(), all)
}

// serveOn serves on the sockets until ctx is done.
func (s *service) serveOn(ctx context.Context, all sockets) error {
	err := s.config.listenAdmin(&all)
	if err != nil {
		return asFailure(errors.Join(err, s.store.Close()), portRemedies, "")
	}

	err = s.run(ctx, all)
	if err != nil {
		return fail(exitFailure, "", fmt.Errorf("cannot serve: %w", err))
	}
	return nil
}

// openKeys reads the keys of the state directory: a server without any would refuse everybody.
func (s *service) openKeys() error {
	plans, err := s.config.plans()
	if err != nil {
		return fail(exitUsage, "", err)
	}
	if s.fleet != nil {
		return s.openSharedKeys(plans)
	}

	// A directory whose disk is not mounted yet looks like one that was never used, so the hint speaks
	// of both.
	state := s.config.State
	s.ring, err = keys.OpenRing(state, plans)
	switch {
	case errors.Is(err, keys.ErrNoFile), errors.Is(err, keys.ErrShared):
		_, hint := remedyOf(err, stateRemedies, state)
		return fail(exitNotReady, hint, fmt.Errorf("cannot serve without keys: %w", err))
	case err != nil:
		return asFailure(err, stateRemedies, state)
	case s.ring.Len() == 0:
		return fail(exitNotReady,
			"run: ninepocket keys create --state "+state+" --tenant NAME --surface live --plan free",
			errors.New("cannot serve without keys: the keys file has none"))
	}
	return nil
}

// noSnapshot is how a start ends that found nothing to serve: its code says so, but where the system
// refused to read the store, which is a failure.
func (c *config) noSnapshot(err error) error {
	folder := c.storeFolder()
	hint := "run: ninepocket snapshot build --store " + folder + " --source KIND:PATH --publish"
	cannot := func(err error) error { return fmt.Errorf("cannot serve without a snapshot: %w", err) }
	if !errors.Is(err, snapshot.ErrNoCurrent) {
		_, hint = remedyOf(err, storeRemedies, folder)
		if _, refused := errors.AsType[syscall.Errno](err); refused && !errors.Is(err, snapshot.ErrNoStore) {
			return fail(exitFailure, hint, cannot(err))
		}
		return fail(exitNotReady, hint, cannot(err))
	}

	// The folder of a disk that is not mounted yet has nothing published either. Nor has a store whose
	// pointer somebody removed, and may put back.
	store := snapshot.OpenDir(folder)
	absent := store.Exists()
	if absent == nil && store.HasRecords() {
		absent = err
	}
	if absent != nil {
		_, hint = remedyOf(absent, storeRemedies, folder)
		err = absent
	}
	return fail(exitNotReady, hint, cannot(err))
}

// openState reads the key of the cursors and opens the log of calls and charges, which one process
// writes.
func (s *service) openState(ctx context.Context, now time.Time) error {
	var err error
	if s.fleet == nil {
		s.cursors, err = openCursors(s.config.State)
	} else {
		s.cursors, err = s.openSharedCursors(ctx)
	}
	if err != nil {
		return err
	}

	store, err := access.OpenEmbedded(s.config.State, access.EmbeddedOptions{
		Now: s.clock.At(now), Report: s.meteringChanged, RepliesMax: s.config.RepliesMax, Export: s.fleet != nil,
	})
	if err != nil {
		return asFailure(err, stateRemedies, s.config.State)
	}

	if s.fleet != nil {
		if err := s.openExport(ctx, store); err != nil {
			return errors.Join(err, store.Close())
		}
	}
	if err := s.openMeter(ctx, store); err != nil {
		return errors.Join(err, store.Close())
	}
	s.tellReplies()
	if torn := store.Stats().LogTorn; torn > 0 {
		s.log.Warn("the end of the metering log was torn: what it held was never acknowledged",
			slog.Int("dropped_records", torn))
	}
	if cause := store.Stats().LogUnmapped; cause != nil {
		s.log.Info("the metering log is written and not mapped: a request costs a system call more",
			slog.Any("cause", cause))
	}
	return nil
}

// tellReplies logs how many idempotent replies are kept, and which plans may make more of them.
func (s *service) tellReplies() {
	plans, err := s.config.plans()
	if err != nil {
		return // a start fails on that before
	}

	more := []string{}
	for _, name := range plans.Names() {
		if plans[name].PerMinute*10 > s.config.RepliesMax {
			more = append(more, name)
		}
	}
	s.log.Info("idempotent replies are kept for ten minutes: as many as the plan makes, and replies_max at most",
		slog.Int("replies_max", s.config.RepliesMax), slog.Any("plans_that_make_more", more))
}

// meteringChanged logs what the store reports: that something fails, and that it is over. What fails
// is tried again by itself.
func (s *service) meteringChanged(err error) {
	switch {
	case err == nil:
		s.log.Info("metering is well again")
	case errors.Is(err, statedir.ErrMoved):
		s.log.Error("metering is down: calls are answered 503 until the state directory is back at its path",
			slog.Any("cause", err))
	case errors.Is(err, state.ErrLogLost):
		s.log.Error("the metering log was removed under the server: what it held goes into a checkpoint now",
			slog.Any("cause", err))
	case errors.Is(err, access.ErrUnavailable):
		s.log.Error("metering is down: calls are answered 503 until the log can be written", slog.Any("cause", err))
	default:
		s.log.Error("no checkpoint can be written: the metering log grows until one can", slog.Any("cause", err))
	}
}

// takeOver takes over what a running server can: plans, keys and the certificate. What is wrong
// with one of them keeps none of the others back.
func (s *service) takeOver(reread func() (layered, error)) error {
	fresh, err := reread()
	if err == nil {
		var changed keys.Plans
		changed, err = fresh.plans()
		if err == nil {
			err = s.ring.SetPlans(changed)
		}
		// What a running server cannot take over is named, or an operator would wait for it.
		if keys := s.config.fixedChanges(&fresh.config); len(keys) > 0 {
			s.log.Warn("settings wait for a restart", slog.Any("keys", keys))
		}
	}

	if s.access != nil {
		s.access.turn()
	}

	// Also when the configuration cannot be read.
	_, badKeys := s.ring.Reload()
	return errors.Join(err, badKeys, s.reloadCertificate())
}

// logTo lets the service log where the command does, and the command's notes take the same way.
func (s *service) logTo(cmd *cobra.Command) {
	w := cmd.ErrOrStderr()
	s.lines = newPatient(w)
	s.log = newLog(s.lines, s.config.LogFormat, colourful(w))
	s.lines.back = func(dropped uint64) {
		s.log.Warn("who reads this log did not, and lines of it are lost", slog.Uint64("lines", dropped))
	}
	cmd.SetErr(s.lines)
}

// newLog writes text for people or JSON for machines.
func newLog(w io.Writer, format string, colours bool) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(tint.NewTextHandler(w, &tint.Options{NoColor: !colours, TimeFormat: time.RFC3339}))
}

// colourful reports whether what is written is looked at by somebody who did not ask for none
// (https://no-color.org).
func colourful(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }

// openImages opens the folder of card images, and the one with the small copies of them.
func openImages(c *config) (*server.Images, error) {
	images, err := server.OpenImages(c.Images)
	if err == nil {
		err = images.KeepSmall(cmp.Or(c.ImageCache, filepath.Join(c.State, "small-images")))
	}
	return images, err
}
