package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/snapshot"
)

// who is the person or job that runs this process, for records: the user, and who became that user.
func who() string {
	name := "uid " + strconv.Itoa(os.Getuid())
	if known, err := user.Current(); err == nil && known.Username != "" {
		name = known.Username
	}
	if sudo := os.Getenv("SUDO_USER"); sudo != "" && sudo != name {
		return sudo + " as " + name
	}
	return name
}

// keyLogName is the file of a state directory that holds the commands that changed keys, a JSON
// object a line.
const keyLogName = "keys.log"

// keyEntry is a command that changed keys. It holds neither a key nor its hash.
type keyEntry struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Command string    `json:"command"` // create, rotate, revoke or reset-day
	Tenant  string    `json:"tenant"`
	Key     string    `json:"key,omitempty"`
	From    string    `json:"from,omitempty"` // the key that a rotation follows
	Surface string    `json:"surface,omitempty"`
	Plan    string    `json:"plan,omitempty"`
	What    string    `json:"what,omitempty"` // that was reset
}

func (issued *issuedKey) entry(command string, now time.Time) keyEntry {
	return keyEntry{
		At: now, Command: command, Tenant: issued.Tenant, Key: issued.ID, Surface: issued.Surface, Plan: issued.Plan,
	}
}

// record notes what was done. The keys are changed by then, so that a record that cannot be written
// is told and fails nothing.
func (flags *registryFlags) record(cmd *cobra.Command, entry keyEntry) {
	entry.At = entry.At.UTC().Truncate(time.Second)
	entry.By = who()
	line, err := json.Marshal(entry)
	if err == nil {
		err = flags.Note(cmd.Context(), line)
	}
	if err != nil {
		cmd.PrintErrf("note: the command is not in the record: %v\n", err)
	}
}

func appendLine(name string, line []byte) error {
	file, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// One write a line, so that commands side by side do not mix theirs.
	_, err = file.Write(append(line, '\n'))
	if err == nil && os.Getuid() == 0 {
		err = giveAway(file, filepath.Dir(name))
	}
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// giveAway lets a file that root may have made belong to who its folder belongs to: the server's
// user writes it too.
func giveAway(file *os.File, folder string) error {
	info, err := os.Stat(folder)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		return file.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}

func keysLog() *cobra.Command {
	var flags registryFlags
	return flags.add(&cobra.Command{
		Use: "log --state DIR", Short: "List the commands that changed keys, newest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			notes, err := flags.Notes(cmd.Context())
			if err != nil {
				return err
			}
			defer notes.Close() //nolint:errcheck // only read
			entries, err := readKeyLog(cmd, notes)
			if err != nil {
				return err
			}

			slices.Reverse(entries)
			return list(cmd, flags.asJSON, entries, "AT\tBY\tCOMMAND\tTENANT\tKEY\tSURFACE\tPLAN", keyEntry.cells)
		},
	})
}

// readKeyLog reads the record; a line that is none, such as a torn one, is told and passed over.
func readKeyLog(cmd *cobra.Command, file io.Reader) (entries []keyEntry, err error) {
	entries = []keyEntry{}
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		var entry keyEntry
		if json.Unmarshal(lines.Bytes(), &entry) != nil {
			cmd.PrintErrf("note: line %d of the record is none, and is passed over\n", n)
			continue
		}
		entries = append(entries, entry)
	}
	return entries, lines.Err()
}

func (e keyEntry) cells() []any {
	key := e.Key
	if e.From != "" {
		key = e.From + " to " + e.Key
	}
	command := e.Command
	if e.What != "" {
		command += " of " + e.What
	}
	return []any{e.At.Format(time.RFC3339), e.By, command, e.Tenant, key, e.Surface, e.Plan}
}

// logged is a row of snapshot log.
type logged struct {
	At     time.Time `json:"at"`
	Action string    `json:"action"` // publish, rollback or refuse
	ID     string    `json:"id"`
	Epoch  uint64    `json:"epoch,omitempty"`
	By     string    `json:"by,omitempty"`
	Why    []string  `json:"why"`
}

func snapshotLog() *cobra.Command {
	var flags storeFlags
	return flags.addStored(&cobra.Command{
		Use: "log --store DIR", Short: "List publications, rollbacks and refusals, newest first, with who and why",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			past, err := flags.dir().Publications()
			if err != nil && !errors.Is(err, snapshot.ErrNoCurrent) {
				return err
			}

			rows := []logged{}
			for _, pub := range past {
				row := logged{pub.PublishedAt, pub.Action, pub.ID, pub.Epoch, pub.By, []string{}}
				if pub.Reason != "" {
					row.Why = append(row.Why, pub.Reason)
				}
				for _, over := range pub.Overrides {
					row.Why = append(row.Why, fmt.Sprintf("guard %s overridden: %s", over.Guard, over.Reason))
				}
				rows = append(rows, row)
			}
			for _, refusal := range flags.dir().Refusals() {
				row := logged{refusal.At, "refuse", refusal.ID, 0, refusal.By, []string{}}
				for _, verdict := range refusal.Guards {
					row.Why = append(row.Why, verdict.Name+": "+verdict.Text)
				}
				rows = append(rows, row)
			}

			slices.SortStableFunc(rows, func(a, b logged) int { return b.At.Compare(a.At) })
			return list(cmd, flags.asJSON, rows, "AT\tACTION\tID\tBY\tWHY", logged.cells)
		},
	})
}

func (l logged) cells() []any {
	return []any{l.At.Format(time.RFC3339), l.Action, l.ID, l.By, strings.Join(l.Why, "; ")}
}

// refused are the guards that refused each snapshot last, of those that were not published since.
func (flags *storeFlags) refused() map[string][]snapshot.Verdict {
	refused := map[string][]snapshot.Verdict{}
	past, _ := flags.dir().Publications()
	for _, refusal := range flags.dir().Refusals() {
		since := func(pub snapshot.Publication) bool {
			return pub.ID == refusal.ID && pub.Action == snapshot.ActionPublish && !pub.PublishedAt.Before(refusal.At)
		}
		if !slices.ContainsFunc(past, since) {
			refused[refusal.ID] = refusal.Guards
		}
	}
	return refused
}
