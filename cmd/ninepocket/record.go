package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
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
