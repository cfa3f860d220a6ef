package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access/keys"
	"ninepocket/fleet/control"
	"ninepocket/internal/backup"
	"ninepocket/internal/disk"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/node"
	"ninepocket/operate/support"
	"ninepocket/snapshot"
)

const (
	askTimeout = 400 * time.Millisecond // of status for a server, and for a database
	oldAfter   = 36 * time.Hour         // prices, as of the alert
	minFree    = 64 << 20               // of the disks of state and feed
)

// status is the result of the command of that name: facts and the next commands.
type status struct {
	facts         map[string]any
	lines         []string // of facts, for people
	unknown, next []string // failed checks; next commands, the most urgent first
	urgent        int      // how many of next cannot wait
	config        settings.Merged
	published     snapshot.Current
	served        string // the snapshot's id, "" if no server answers
	file, with    string // of the configuration, "" for none, and as a flag
}

func statusCommand() *cobra.Command {
	var flags *configFlags
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "Show the served snapshot, the last day and the next command on one screen",
		Long: "Reads the served snapshot from the admin listener, and checks store, state and feed of the\n" +
			"configuration: the last day and its result, missing days, disks, keys and the last backup. Then it\n" +
			"prints the next commands.\n\n" +
			"Exit codes: 0 means that all is well. 1 means that a check failed, such as when no server answers. 3\n" +
			"means that an operator is needed.",
		Example: "  ninepocket status --config /etc/ninepocket/ninepocket.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := flags.read()
			if err != nil {
				return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
			}
			if config.Store == "" {
				return fail(exitUsage, howToGive("store"), errors.New("cannot go on: store is not given"))
			}

			s := status{facts: map[string]any{}, config: config, file: settings.File(flags.path)}
			if s.file != "" {
				s.with = " --config " + shellWords([]string{s.file})
			}
			s.look(cmd.Context(), time.Now())
			return errors.Join(printResult(cmd, s.facts, s.print), verdicts[s.facts["verdict"]])
		},
	}

	flags = addConfigFlags(cmd, "store", "state", "control", "admin")
	cmd.Flags().Bool("json", false, "print JSON")
	return cmd
}

func supportBundleCommand() *cobra.Command {
	var logPath string
	var yes, dry bool
	var flags *configFlags
	cmd := &cobra.Command{
		Use: "support-bundle FILE", Args: cobra.ExactArgs(1), Short: "Pack what a bug report needs, without secrets",
		Long: `Prints versions, public settings, figures of the snapshot and its guards, and the newest lines of a
log, then writes all of it into FILE. Tenants are called t1, t2 and so on. The bundle has no keys,
addresses, folders, environment or access log. The command asks on a terminal, and wants --yes elsewhere.`,
		Example: "  journalctl -u ninepocket -o cat >server.log\n" +
			"  ninepocket support-bundle bundle.txt --config /etc/ninepocket/ninepocket.toml --log server.log",
	}
	flags = addConfigFlags(cmd, "store")
	cmd.Flags().StringVar(&logPath, "log", "", "`FILE` with the log of a server")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&dry, "dry-run", false, dryRunHelp)

	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		config, err := flags.read()
		if err != nil {
			return fail(exitUsage, "run: ninepocket config check, with the same flags", err)
		}
		from := support.Sources{
			Program: describeProgram(), Config: &config, Store: snapshot.OpenStore(config.StoreFolder()),
		}
		if logPath != "" {
			log, err := os.Open(logPath)
			if err != nil {
				return fail(exitFailure, "", fmt.Errorf("cannot read the log: %w", err))
			}
			defer func() { _ = log.Close() }() // it is only read
			from.Log = log
		}

		text, err := support.Collect(&from)
		if err == nil {
			_, err = cmd.OutOrStdout().Write(text)
		}
		if err != nil || dry {
			return fail(exitFailure, "", err)
		}
		if !yes && !term.Confirm(cmd.InOrStdin(), cmd.ErrOrStderr(), "write this into "+args[0]+"?") {
			return fail(exitUsage, "add --yes", errors.New("cannot write the bundle: nobody said yes"))
		}
		return fail(exitFailure, "name another file", writeNewFile(args[0], text))
	}
	return cmd
}

// look finds out everything. A failed check hides no other fact.
func (s *status) look(ctx context.Context, now time.Time) {
	const noServer = "start the server: ninepocket serveFOLDER; or name the one that runs by --admin"
	s.unclear(s.askServer(), []errorHint{hint(exitFailure, noServer, errNoServer)}, s.with)
	folder := s.config.StoreFolder()
	s.unclear(s.readStore(ctx, folder, now), storeHints, folder)
	// A server loads for some seconds, and may wait for an agreed time.
	published := s.published
	late := now.Sub(published.PublishedAt) > time.Minute && now.After(published.ActivateAt)
	if s.served != "" && published.ID != "" && s.served != published.ID && late {
		s.attend("the server serves %s and not what %s publishes: is it the server of this store? "+
			"ninepocket config print%s", s.served, folder, s.with)
	}
	keysIn := cmp.Or(settings.Redact(s.config.Control), s.config.State)
	s.unclear(s.readKeys(ctx, now), slices.Concat(controlHints, stateHints), keysIn)
	s.measureDisk("state", s.config.State, minFree)
	s.measureDisk("feed", s.config.Feed.Into, minFree)
	s.unclear(s.readBackups(now), backupHints, s.config.Backup.Into)

	// An empty list is [] for scripts, and never null.
	s.facts["unknown"] = append([]string{}, s.unknown...)
	s.facts["next"] = append([]string{}, s.next...)
	s.facts["verdict"] = "well"
	if len(s.unknown) > 0 {
		s.facts["verdict"] = "unknown"
	}
	if s.urgent > 0 {
		s.facts["verdict"] = "attention"
	}
}

// errNoServer reports that nobody answers for a server.
var errNoServer = errors.New("no server answers")

// readBackups says how old the newest backup is, and how the last drill went.
func (s *status) readBackups(now time.Time) error {
	into := s.config.Backup.Into
	if into == "" {
		s.add("last backup", nil, "none: [backup] into is not configured")
		return nil
	}
	all, err := backup.List(into)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	if len(all) == 0 {
		s.add("last backup", nil, "none")
	} else {
		all[0].Files = nil
		s.add("last backup", all[0], "%s of %s", all[0].ID, all[0].At.Format(time.RFC3339))
	}
	if len(all) == 0 || now.Sub(all[0].At) > oldAfter {
		s.attend("the last backup is too old: ninepocket backup%s", s.with)
	}
	drilled := backup.LastDrill(all)
	if drilled != nil && !drilled.Good {
		s.attend("the last drill found damage: ninepocket backup%s; then ninepocket restore --check%s", s.with, s.with)
	}
	return nil
}

// verdicts are the errors of those that are not well.
var verdicts = map[any]error{
	"attention": fail(exitRefused, "", errors.New("cannot call it well: somebody is needed")),
	"unknown":   fail(exitFailure, "", errors.New("its state is unknown")),
}

// add adds a fact.
func (s *status) add(name string, value any, format string, args ...any) {
	s.facts[strings.ReplaceAll(name, " ", "_")] = value
	s.lines = append(s.lines, fmt.Sprintf("%-13s "+format, append([]any{name}, args...)...))
}

// attend adds what cannot wait.
func (s *status) attend(format string, args ...any) {
	s.next = slices.Insert(s.next, s.urgent, fmt.Sprintf(format, args...))
	s.urgent++
}

// unclear adds what could not be found out, and how to.
func (s *status) unclear(err error, hints []errorHint, folder string) {
	if err == nil {
		return
	}
	s.unknown = append(s.unknown, err.Error())
	s.lines = append(s.lines, "unknown       "+err.Error())
	if _, hint := findHint(err, hints, folder); hint != "" {
		s.next = append(s.next, hint)
	}
}

func (s *status) print(out *bufio.Writer) {
	for _, line := range s.lines {
		fmt.Fprintln(out, line)
	}
	for i, what := range s.next {
		fmt.Fprintf(out, "\n%d. %s\n", i+1, what)
	}
}

// askServer asks the admin listener what is served.
func (s *status) askServer() error {
	client := &http.Client{Timeout: askTimeout}
	base := "http://" + node.Loopback(s.config.Admin)
	texts := map[string]string{}
	for _, path := range []string{"/readyz", "/-/snapshot"} {
		resp, err := client.Get(base + path)
		if err != nil {
			return fmt.Errorf("%w: %w", errNoServer, err)
		}
		// A truncated body is no JSON.
		body, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		_ = resp.Body.Close()
		texts[path] = strings.TrimSpace(string(body))
	}

	var served struct {
		ID          string          `json:"snapshot_id"`
		LiveSince   time.Time       `json:"live_since"`
		Behind      bool            `json:"behind"`
		LastFailure json.RawMessage `json:"last_failure,omitempty"`
	}
	if err := json.Unmarshal([]byte(texts["/-/snapshot"]), &served); err != nil {
		return fmt.Errorf("%w as ours do at %s: %w", errNoServer, base, err)
	}
	s.served = served.ID
	s.add("served", served, "%s since %s", served.ID, served.LiveSince.Format(time.RFC3339))
	s.add("ready", texts["/readyz"], "%s", texts["/readyz"])
	if !strings.HasPrefix(texts["/readyz"], "ok") {
		s.attend("the server answers no requests: its log says why")
	}
	if served.Behind && served.LastFailure != nil {
		s.attend("what is published cannot be served: curl -s %s/-/snapshot says why; publish another, or mend it "+
			"and run: curl -X POST %s/-/reload", base, base)
	}
	return nil
}

// readStore reads what is published, and judges it.
func (s *status) readStore(ctx context.Context, folder string, now time.Time) error {
	store := snapshot.OpenStore(folder)
	cur, err := store.Current()
	if err != nil {
		return cmp.Or(store.Exists(), err)
	}
	catalog, err := store.Load(ctx, cur.ID, nil)
	if err != nil {
		return fmt.Errorf("cannot read the published snapshot: %w", err)
	}

	at := time.UnixMilli(catalog.SnapshotAt).UTC()
	s.add("published", cur, "%s since %s", cur.ID, cur.PublishedAt.Format(time.RFC3339))
	if age := now.Sub(at); age > oldAfter {
		s.attend("the prices are %.0f hours old: ninepocket daily --store %s%s", age.Hours(), folder, s.with)
	}
	s.published = cur
	s.judgeDay(store)
	s.readGaps(catalog)
	s.add("unlisted", len(catalog.Unlisted.Item), "%d cards", len(catalog.Unlisted.Item))

	// The snapshots that retention leaves, and the next build. Folders that cannot be listed are
	// not counted.
	var need int64
	all, _ := store.List()
	for _, m := range all {
		if m.ID == cur.ID {
			need += m.Bytes() * int64(1+cmp.Or(s.config.Daily.RetainSnapshots, settings.DefaultRetention))
		}
		need -= m.Bytes()
	}
	s.measureDisk("store", folder, max(need, minFree))
	return nil
}

// measureDisk says whether a folder has the room that it needs.
func (s *status) measureDisk(name, folder string, need int64) {
	free, err := disk.Free(folder)
	if err != nil {
		return // not given, or not there: others say so
	}
	s.add(name+" disk", map[string]int64{"free_bytes": free, "need_bytes": need}, "%s free, %s needed", term.Size(free),
		term.Size(need))
	if free < need {
		s.attend("the disk of %s needs %s and has %s: make room", folder, term.Size(need), term.Size(free))
	}
}

// judgeDay reports the result of the last day, and the next step after a refusal.
func (s *status) judgeDay(store *snapshot.Store) {
	rows, err := storeLog(store)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("cannot say who published: the record of publications in %q is damaged or gone", store.Root())
	}
	s.unclear(err, storeHints, store.Root())
	refused := slices.IndexFunc(rows, func(row logRow) bool { return row.Action == actionRefuse })
	addRow := func(name string, i int) {
		if i >= 0 {
			s.add(name, rows[i], "%s", strings.TrimSpace(fmt.Sprintln(rows[i].cells()...)))
		}
	}
	addRow("last day", min(0, len(rows)-1))

	// A day whose pull or build failed changed nothing, and is in no journal. A store that is filled by hand
	// has no day's work.
	day, err := snapshot.LastDaily(store)
	if err == nil {
		s.add("last evening", day, "%s at %s", strings.ReplaceAll(day.Verdict, "_", " "), day.At.Format(time.RFC3339))
	}
	if day.Verdict == snapshot.VerdictRefused && refused < 0 {
		s.attend("the last evening was refused; run it again and read what it says: ninepocket daily%s", s.with)
	}
	if day.Verdict == snapshot.VerdictFailed {
		s.attend("the last day's work failed; run it again and read what it says: ninepocket daily%s", s.with)
	}
	addRow("last refusal", refused)
	if refused == 0 {
		s.attend("the last day was refused: mend the feed and run the day again; if it is right: %s",
			overrideCommand(&snapshot.RefusedError{ID: rows[0].ID, Verdicts: rows[0].guards}, store.Root(), s.file))
	}
}

// readGaps finds the days without prices, and the groups without usable ones of the last day.
func (s *status) readGaps(catalog *snapshot.Catalog) {
	gaps := &catalog.Gaps
	groups := []string{}
	missing := []string{}
	for i, day := range gaps.Day {
		switch group := gaps.Group.At(i); {
		case group == "":
			missing = append(missing, day.String())
		case day == catalog.Date():
			name := group
			if set := gaps.Set[i]; set != snapshot.NoSet {
				name += " " + catalog.Sets.Name.At(int(set))
			}
			if catalog.GapReasons.Len() > 0 {
				name += " (" + catalog.GapReasons.At(i) + ")"
			}
			groups = append(groups, name)
		}
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	s.add("held groups", groups, "%s", lastOf(groups))
	s.add("missing days", missing, "%s", lastOf(missing))

	if len(missing) > 0 {
		s.next = append(s.next, "the next day's build reads the files of missing days, once they are in "+
			filepath.Join(cmp.Or(s.config.Feed.Into, "feed"), "days"))
	}
}

// lastOf counts, and names the last few.
func lastOf(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	const shown = 8
	more := ""
	if len(all) > shown {
		more = "the last are "
	}
	return fmt.Sprintf("%d: %s%s", len(all), more, strings.Join(all[max(0, len(all)-shown):], ", "))
}

// readKeys counts keys, and finds those that get 503.
func (s *status) readKeys(ctx context.Context, now time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	var from registry.Store = registry.DirStore(s.config.State)
	if s.config.Control != "" {
		db, err := control.Open(ctx, s.config.Control)
		if err != nil {
			return err
		}
		defer db.Close()
		from = registry.ControlStore{DB: db}
	} else if s.config.State == "" {
		return nil // such as on a machine that only publishes
	}

	file, err := from.ReadKeys(ctx)
	plans, wrong := s.config.PlanTable()
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	ring, err := keys.FixedRing(file, plans)
	if err != nil {
		return err
	}
	unusable := 0
	for _, of := range ring.WithoutPlan(now) {
		unusable += len(of.Keys)
		s.attend("keys of tenant %s get 503: write [plans.%s] into the configuration", of.Tenant, of.Plan)
	}
	counts := map[string]int{"all": len(file.Keys), "unusable": unusable}
	s.add("keys", counts, "%d, %d unusable", counts["all"], unusable)
	return nil
}
