package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/calendar"
	"ninepocket/engine/cursor"
	"ninepocket/fleet/control"
	"ninepocket/fleet/limiter"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/node"
)

// addControl adds the flags of commands on the control database, and hints to its errors. The database is open
// while run runs.
func addControl(
	cmd *cobra.Command, run func(cmd *cobra.Command, args []string, db *control.DB) error,
) *cobra.Command {
	url := defineControl(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withControl(cmd, *url, func(db *control.DB) error { return run(cmd, args, db) })
	}
	return cmd
}

// defineControl defines those flags, and returns the URL of the database.
func defineControl(cmd *cobra.Command) (url *string) {
	url = cmd.Flags().String("control", "", "PostgreSQL `URL` of the fleet"+ofConfiguration)
	cmd.Flags().Bool("json", false, "print JSON")
	configured(cmd, needed, "control")
	return url
}

func fleetCheck() *cobra.Command {
	var redis limiterFlags
	var acks, store string
	var publishers []string
	cmd := &cobra.Command{
		Use: "check", Short: "Check PostgreSQL, Redis and store of a fleet; exit 3 for a fault",
		Long: "Checks PostgreSQL: access, version, durable writes, clock and password. Then it lists servers that\n" +
			"do not report, and differences in keys, release, clock and card images. With --metering it also\n" +
			"checks Redis: version, memory, replicas or disk, clock and passwords, and a test grant. With --store\n" +
			"s3://… it reads the release, as a server does. Each fault is followed by a command.",
		Example: "  ninepocket fleet check --config /etc/ninepocket/ninepocket.toml",
		Args:    cobra.NoArgs,
	}
	redis.add(cmd)
	cmd.Flags().StringVar(&acks, "acks", "replica", "what a grant of rights waits for: replica, aof or none")
	cmd.Flags().IntVar(&redis.Replicas, "replicas", 1, "replicas that must have a grant, with --acks replica")
	url := defineControl(cmd)
	cmd.Flags().StringVar(&store, "store", "", "`URL` of the store, s3://…"+ofConfiguration)
	cmd.Flags().StringSliceVar(&publishers, "publishers", nil, "`ID:KEY` that may sign them"+ofConfiguration)
	for key := range strings.FieldsSeq("fleet.acks fleet.replicas store publishers") {
		configured(cmd, optional, key)
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var wrong settings.Problems
		if redis.URL != "" {
			wrong.Add(checkLimiter(&redis.Options, acks))
		}
		trusted, err := settings.ParsePublishers(publishers)
		wrong.Add(err)
		if err := wrong.Err(); err != nil {
			return fail(exitUsage, "", err)
		}

		// An unavailable engine is a finding, so that the other one is still checked.
		all, epoch := inspectPostgres(cmd, *url)
		if redis.URL != "" {
			all = append(all, inspectRedis(cmd.Context(), redis.Options)...)
		}
		if strings.HasPrefix(store, mirror.Scheme) {
			all = append(all, inspectStore(cmd.Context(), store, trusted, epoch))
		}
		return printFindings(cmd, all)
	}
	return cmd
}

// inspectPostgres checks the database of a fleet, and returns the highest epoch that it knows.
func inspectPostgres(cmd *cobra.Command, url string) (all []control.Finding, epoch uint64) {
	err := withControl(cmd, url, func(db *control.DB) (err error) {
		epoch, _ = db.HighestEpoch(cmd.Context()) // what is wrong with it is a finding
		all, err = db.Check(cmd.Context(), time.Now)
		return err
	})
	if err != nil {
		// Without a floor the store is looked at all the same.
		const command = `pg_isready -d "$NINEPOCKET_CONTROL"`
		return []control.Finding{{What: "postgresql", Text: err.Error(), Command: command}}, 0
	}
	return all, epoch
}

// inspectStore reads what is published as a server without a folder does, which takes nothing below an epoch.
func inspectStore(ctx context.Context, store string, trusted []mirror.Publisher, epoch uint64) control.Finding {
	floor := func(context.Context) (uint64, error) { return epoch, nil }
	var done mirror.PullResult
	bucket, err := openBucket(store)
	if err == nil {
		done, err = mirror.Inspect(ctx, bucket, mirror.FollowerOptions{Publishers: trusted, Floor: floor})
	}
	if err != nil {
		again := "ninepocket snapshot pull --store \"$(mktemp -d)\" --from " + shellWords([]string{store})
		return control.Finding{What: "store", Text: err.Error(), Command: again}
	}
	text := fmt.Sprintf("%s: epoch %d, snapshot %s, signed by %s", bucket, done.Epoch, done.ID, done.By)
	return control.Finding{What: "store", Good: true, Text: text}
}

// inspectRedis checks the Redis of a fleet.
func inspectRedis(ctx context.Context, redis limiter.Options) (all []control.Finding) {
	clock := access.StartClock(time.Now())
	redis.Now = func() access.Instant { return clock.At(time.Now()) }
	found, err := limiter.Inspect(ctx, redis)
	if err != nil {
		return []control.Finding{{What: "redis", Text: "cannot look at redis: " + err.Error()}}
	}
	if len(found.Findings) == 0 {
		const good = "redis: version, replicas, clock, password, a right granted, %s of memory (maxmemory %s)"
		bound := "none"
		if found.Bound > 0 {
			bound = limiter.Megabytes(found.Bound)
		}
		text := fmt.Sprintf(good, limiter.Megabytes(found.Used), bound)
		return []control.Finding{{What: "redis", Good: true, Text: text}}
	}

	for _, finding := range found.Findings {
		all = append(all, control.Finding{What: "redis", Text: "redis: " + finding.Text, Command: finding.Command})
	}
	return all
}

// checkLimiter checks the flags of fleet check for Redis. A server checks the same of its settings.
func checkLimiter(redis *limiter.Options, acks string) error {
	var wrong settings.Problems
	waits, known := settings.Acks[acks]
	wrong.AddIf(!known, "cannot use --acks %q: want replica, aof or none", acks)
	wrong.AddIf(redis.Replicas < 1 || redis.Replicas > settings.MaxReplicas, "cannot use --replicas %d: want 1 to %d",
		redis.Replicas, settings.MaxReplicas)
	wrong.Add(settings.CheckMetering(redis.URL))
	redis.Acks = waits
	return wrong.Err()
}

// printFindings prints what fleet check found, and returns an error if one is wrong.
func printFindings(cmd *cobra.Command, all []control.Finding) error {
	err := printResult(cmd, all, func(out *bufio.Writer) {
		for _, found := range all {
			mark := "good "
			if !found.Good {
				mark = "WRONG"
			}
			fmt.Fprintf(out, "%s  %s\n", mark, found.Text)
			// A line of its own, to be pasted as it is.
			if found.Command != "" && !found.Good {
				fmt.Fprintf(out, "       %s\n", found.Command)
			}
		}
	})
	if err != nil {
		return err
	}

	wrong := len(slices.DeleteFunc(slices.Clone(all), func(found control.Finding) bool { return found.Good }))
	if wrong > 0 {
		return fail(exitRefused, "",
			fmt.Errorf("cannot vouch for the fleet: %d of %d findings are wrong", wrong, len(all)))
	}
	return nil
}

func fleetStatus() *cobra.Command {
	var redis limiterFlags
	cmd := &cobra.Command{
		Use: "status", Short: "List the servers with their snapshot and last report",
		Long: "Lists the servers of a fleet, and those that do not report. With --metering it prints the units of\n" +
			"days and credits that these hold in Redis.",
		Args: cobra.NoArgs,
	}
	redis.add(cmd)
	return addControl(cmd, func(cmd *cobra.Command, _ []string, db *control.DB) error {
		if err := redis.check(); err != nil {
			return err
		}
		servers, err := db.Servers(cmd.Context())
		if err != nil {
			return err
		}

		// An empty list is [] for scripts, never null.
		rows := append([]control.Server{}, servers...)
		err = printTable(cmd, rows,
			"SERVER ID\tHOST\tVERSION\tSNAPSHOT\tEPOCH\tPENDING\tREPORTED\tSTATE",
			serverCells)
		// On stderr: scripts read the list.
		for i := range rows {
			if rows[i].Problem("") == "" {
				continue
			}
			reserved, wrong := redis.reservedUnits(cmd.Context(), db, rows[i].ServerID)
			err = errors.Join(err, wrong)
			cmd.PrintErrln(rows[i].Problem(reserved))
		}
		return errors.Join(err, printRestored(cmd, db, rows))
	})
}

// restoredFor is how long fleet status reports a database that was restored.
const restoredFor = 7 * 24 * time.Hour

// printRestored reports on stderr the rows that servers wrote again into a database that was an
// older copy.
func printRestored(cmd *cobra.Command, db *control.DB, servers []control.Server) error {
	since := time.Now().Add(-restoredFor)
	for _, server := range servers {
		if server.RestoredAt != nil && server.RestoredAt.After(since) {
			cmd.PrintErrf("the ledger was an older copy at %s: server id %s wrote again %d rows that it lacked\n",
				server.RestoredAt.UTC().Format(time.RFC3339), server.ServerID, server.RestoredRows)
		}
	}

	ids, err := db.RevokedAgain(cmd.Context(), since)
	if len(ids) > 0 {
		cmd.PrintErrf("keys revoked again, as the database was an older copy: %s; to let one live: fleet revive ID\n",
			strings.Join(ids, ", "))
	}
	return err
}

func fleetRevive() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use: "revive ID --reason TEXT", Short: "Let a revoked key work again, within 2 seconds",
		Long: "Servers remember revoked keys. If the database is an older copy without a revocation, they still\n" +
			"refuse the key and revoke it again. This command takes one revocation back, in the database and at\n" +
			"every server. The key of a suspended tenant stays suspended.",
		Example: "  ninepocket fleet revive key_1a2b3c --reason 'revoked by mistake, restored on purpose'",
		Args:    cobra.ExactArgs(1),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the log of keys")
	require(cmd, "reason")

	return addControl(cmd, func(cmd *cobra.Command, args []string, db *control.DB) error {
		now := time.Now()
		// The log gets completed changes only.
		var key *keys.Key
		err := db.UpdateKeys(cmd.Context(), func(file *keys.File) (err error) {
			key, err = file.Revive(args[0], now)
			return err
		})
		if err != nil {
			return err
		}

		record(cmd, registry.ControlStore{DB: db}, registry.Change{
			At: now, Command: "revive", Tenant: key.Tenant, Key: key.ID, Surface: key.Surface, Reason: reason,
		})
		row := map[string]any{"id": key.ID, "status": key.Status(now)}
		return printLine(cmd, row, "revived %s: it is %s", key.ID, key.Status(now))
	})
}

// limiterFlags are the flags of the Redis of a fleet, which is optional.
type limiterFlags struct{ limiter.Options }

func (flags *limiterFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&flags.URL, "metering", "",
		"Redis or Valkey `URL` of the fleet"+ofConfiguration)
	cmd.Flags().StringVar(&flags.Prefix, "prefix", settings.Default().Fleet.Prefix, "fleet.prefix of the servers")
	configured(cmd, optional, "metering")
	configured(cmd, optional, "fleet.prefix")
}

// check refuses invalid values.
func (flags *limiterFlags) check() error {
	var wrong settings.Problems
	wrong.AddIf(!settings.ValidRedisPrefix(flags.Prefix),
		"cannot use --prefix %q: want 1 to %d letters, digits, - or _", flags.Prefix, settings.MaxPrefix)
	wrong.Add(settings.CheckMetering(flags.URL))
	return fail(exitUsage, "", wrong.Err())
}

// reservedUnits says how many units a server has reserved, "" if Redis is not given.
func (flags *limiterFlags) reservedUnits(ctx context.Context, db *control.DB, serverID string) (string, error) {
	if flags.URL == "" {
		return "", nil
	}
	charges, err := db.ChargesByServer(ctx, serverID)
	if err != nil {
		return "", err
	}
	reserved, err := limiter.ReleaseServer(ctx, flags.Options, serverID, charges.Of, true)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d units of %d tenants", reserved.Units, reserved.Tenants), nil
}

func serverCells(server control.Server) []any {
	state := "reports"
	switch {
	case server.ForgottenAt != nil:
		state = "forgotten"
	case server.SilentFor > 0:
		state = "silent"
	}
	return []any{
		server.ServerID, server.Host, server.Version, server.Snapshot, server.Epoch, server.Pending,
		orNever(server.ExportedAt), state,
	}
}

func fleetForget() *cobra.Command {
	var redis limiterFlags
	var yes bool
	cmd := &cobra.Command{
		Use: "forget SERVER-ID --yes", Short: "Remove a lost server from the fleet",
		Long: "For a machine that is gone for good. Its reported usage stays in the bills. Charges after its last\n" +
			"report, at most some seconds, are lost with its disk. With --metering, units of days and credits\n" +
			"that it held in Redis are free again. A server that still reports, or reaches Redis, is refused. A\n" +
			"server that returns continues to report, and claims its charges again.",
		Args: cobra.ExactArgs(1),
	}
	redis.add(cmd)
	cmd.Flags().BoolVar(&yes, "yes", false, "do it")

	return addControl(cmd, func(cmd *cobra.Command, args []string, db *control.DB) error {
		if !yes {
			return fail(exitUsage, "look at: ninepocket fleet status; then say --yes",
				fmt.Errorf("cannot forget %q without --yes", args[0]))
		}
		if err := redis.check(); err != nil {
			return err
		}
		return forget(cmd, db, redis.Options, args[0])
	})
}

// forgetResult is the output of fleet forget.
type forgetResult struct {
	ServerID string            `json:"forgotten"`
	Released *limiter.Released `json:"freed,omitempty"` // nil without Redis
}

// forget forgets a server, unless it may still be alive.
func forget(cmd *cobra.Command, db *control.DB, redis limiter.Options, serverID string) error {
	out := forgetResult{ServerID: serverID}
	if redis.URL != "" {
		if err := limiter.CheckDead(cmd.Context(), redis, serverID); err != nil {
			return err
		}
	}
	// It refuses a server that reports, whose units must not be released.
	if err := db.Forget(cmd.Context(), serverID); err != nil {
		return err
	}
	// Units of a Redis that was not named come back with the end of their day.
	if redis.URL == "" {
		const hint = "forgot %s; with --metering what it held in Redis is free again, too"
		return printLine(cmd, out, hint, serverID)
	}

	charges, err := db.ChargesByServer(cmd.Context(), serverID)
	if err != nil {
		return err
	}
	freed, err := limiter.ReleaseServer(cmd.Context(), redis, serverID, charges.Of, false)
	if err != nil {
		return err
	}
	out.Released = &freed
	return printLine(cmd, out, "forgot %s; %d units of %d tenants are free again",
		serverID, freed.Units, freed.Tenants)
}

// importResult is the output of fleet import.
type importResult struct {
	ServerID string `json:"incarnation"`
	control.Imported
	Rows    int  `json:"ledger_rows"`
	Cursors bool `json:"cursors"` // cursors from the machine are valid in the fleet
}

func fleetImport() *cobra.Command {
	var state string
	cmd := &cobra.Command{
		Use: "import", Short: "Import keys and bills of one machine into a fleet",
		Long: "Reads the keys, the ledger and the cursor secret of a state directory, whether or not a server runs\n" +
			"there, and enters them. Rows of the fleet stay unchanged. A second import adds new rows, ends keys\n" +
			"that were revoked on the machine, and undoes nothing. A server that is started on the directory with\n" +
			"--control continues from there.",
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&state, "state", "", "state `DIR` of the machine"+ofConfiguration)
	configured(cmd, needed, "state")

	return addControl(cmd, func(cmd *cobra.Command, _ []string, db *control.DB) error {
		out, err := importState(cmd, db, state)
		if err != nil {
			return withHint(err, stateHints, state)
		}
		for _, tenant := range out.Unchanged {
			cmd.PrintErrf("note: tenant %s is there and differs: the fleet's plans and credits stay\n", tenant)
		}
		if out.Revoked > 0 {
			cmd.PrintErrf("note: %d keys end in the fleet as they do on the machine\n", out.Revoked)
		}
		if !out.Cursors {
			cmd.PrintErrln("note: walks that begin on the machine end there: the fleet signs cursors by itself")
		}
		return printLine(cmd, out, "imported %d tenants, %d keys and %d ledger rows as server id %s",
			out.Tenants, out.Keys, out.Rows, out.ServerID)
	})
}

func importState(cmd *cobra.Command, db *control.DB, state string) (out importResult, err error) {
	// All is read before anything is imported.
	file, err := keys.Read(state)
	if err != nil {
		return out, err
	}
	rows, err := access.ReadLedger(state, "", 0, lastDay)
	if err != nil {
		return out, err
	}
	used, err := access.ReadLastUse(state)
	if err != nil {
		return out, err
	}
	out.ServerID, err = statedir.ServerID(state)
	if err != nil {
		return out, err
	}

	// A machine that was never started has no cursor key.
	secret, _, err := node.ReadCursorKey(state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, err
	}

	out.Imported, err = db.ImportKeys(cmd.Context(), file)
	if err == nil {
		err = db.ImportRows(cmd.Context(), out.ServerID, node.Hostname(), rows)
	}
	if err == nil {
		err = db.ImportLastUses(cmd.Context(), used)
	}
	if err == nil && secret != nil {
		out.Cursors, err = db.AdoptCursorKey(cmd.Context(), [cursor.KeyLen]byte(secret))
	}
	out.Rows = len(rows)
	return out, err
}

// lastDay is after all other days.
const lastDay = calendar.Day(1<<31 - 1)
