package main

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
)

func keysCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "keys", Short: "Create, list, revoke and rotate API keys", RunE: group}
	cmd.AddCommand(keysCreate(), keysList(), keysRevoke(), keysRotate())
	return cmd
}

// stateFlags are what every command takes that reads or changes a state directory.
type stateFlags struct {
	state  string
	asJSON bool
}

func (s *stateFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.state, "state", "", "state `DIR` of the server")
	cmd.Flags().BoolVar(&s.asJSON, "json", false, "print JSON")
	require(cmd, "state")
}

// failed gives an error of the state directory its hint.
func (s *stateFlags) failed(err error) error { return fail(exitFailure, keysHint(s.state, err), err) }

// issuedKey is what create and rotate print, once.
type issuedKey struct {
	ID        string     `json:"id"`
	Key       string     `json:"key"`
	Tenant    string     `json:"tenant"`
	Surface   string     `json:"surface"`
	Plan      string     `json:"plan"`
	Name      string     `json:"name,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	ExpiresAt *time.Time `json:"expires_at,omitempty"`
}

func printIssued(cmd *cobra.Command, asJSON bool, k *access.Key, plan, text string) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return printJSON(out, issuedKey{
			ID: k.ID, Key: text, Tenant: k.Tenant, Surface: k.Surface, Plan: plan, Name: k.Name, Scopes: k.Scopes,
			ExpiresAt: k.ExpiresAt,
		})
	}

	_, err := fmt.Fprintf(out, "%s\n", text)
	_, _ = fmt.Fprintf(cmd.ErrOrStderr(),
		"key %s of tenant %s, plan %s: it is shown this once, only its hash is kept\n", k.ID, k.Tenant, plan)
	return err
}

func keysCreate() *cobra.Command {
	var s stateFlags
	var tenant, surface, plan, expires, name string
	var scopes []string
	var changePlan bool
	var credits int64
	cmd := &cobra.Command{
		Use:     "create --state DIR --tenant T --surface live|preview|sandbox --plan P",
		Short:   "Create a key and print it once",
		Example: "  ninepocket keys create --state state --tenant acme --surface live --plan starter",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			n := access.NewKey{Tenant: tenant, Plan: plan, ChangePlan: changePlan, Name: name}
			var problems []error
			var err error
			n.Kind, err = access.ParseKind(surface)
			if err != nil {
				problems = append(problems, err)
			}

			n.Scopes, err = access.ParseScopes(scopes)
			if err != nil {
				problems = append(problems, err)
			}
			if expires != "" {
				at, err := time.Parse(time.RFC3339, expires)
				if err != nil {
					problems = append(problems,
						fmt.Errorf("cannot read --expires %q: want a time such as 2027-01-31T00:00:00Z", expires))
				}
				n.Expires = &at
			}
			if cmd.Flags().Changed("credits") {
				n.Credits = &credits
			}

			now := time.Now()
			// A name that could not be read would only be complained of twice.
			if len(problems) == 0 {
				problems = append(problems, n.Validate(now))
			}
			if err := errors.Join(problems...); err != nil {
				return fail(exitUsage, "", err)
			}

			var made *access.Key
			var text string
			err = access.UpdateKeys(s.state, func(f *access.KeyFile) error {
				made, text, err = f.Create(n, now)
				if err != nil {
					return err
				}

				// The tenant may have a plan already, which --plan alone does not change.
				plan = f.Tenants[tenant].Plan
				return nil
			})
			if err != nil {
				hint := keysHint(s.state, err)
				if errors.Is(err, access.ErrPlanDiffers) {
					hint = "the plan belongs to the tenant: add --change-plan to change it for all of its keys"
				}
				return fail(exitFailure, hint, err)
			}
			if _, known := access.DefaultPlans()[plan]; !known {
				_, _ = fmt.Fprintf(cmd.ErrOrStderr(),
					"note: plan %q is not built in: the key gets 503 until the server's configuration has it\n", plan)
			}
			return printIssued(cmd, s.asJSON, made, plan, text)
		},
	}

	f := cmd.Flags()
	f.StringVar(&tenant, "tenant", "", "`NAME` of the organization that the key belongs to")
	f.StringVar(&surface, "surface", "live", "live, preview or sandbox")
	f.StringVar(&plan, "plan", "",
		"plan of the tenant: free, starter, pro, business, unlimited, preview, or a configured one")
	f.StringSliceVar(&scopes, "scopes", nil, "scopes of a preview key (default: all)")
	f.StringVar(&expires, "expires", "", "`TIME` when the key stops working, RFC 3339")
	f.StringVar(&name, "name", "", "a name for people")
	f.Int64Var(&credits, "credits", 0, "credits a period of a preview tenant (default: the plan's)")
	f.BoolVar(&changePlan, "change-plan", false, "let --plan replace the tenant's plan")
	s.add(cmd)
	require(cmd, "tenant", "plan")
	return cmd
}

// update changes keys that are there: nothing but create begins a state directory.
func (s *stateFlags) update(change func(*access.KeyFile) error) error {
	_, err := access.ReadKeys(s.state)
	if err == nil {
		err = access.UpdateKeys(s.state, change)
	}

	switch {
	case errors.Is(err, access.ErrNoSuchKey):
		return fail(exitFailure, "run: ninepocket keys list --state "+s.state, err)
	case err != nil:
		return s.failed(err)
	}
	return nil
}

// keysHint says what to do about a state directory whose keys or ledger cannot be read, "" when
// nobody can say.
func keysHint(state string, err error) string {
	switch {
	case errors.Is(err, access.ErrNoKeysFile):
		return "give the state directory that serve uses, or begin one: ninepocket keys create --state " + state +
			" --tenant NAME --surface live --plan free"
	case errors.Is(err, fs.ErrPermission):
		return "run this as the user that the server runs as: only that one can read the state directory"
	case errors.Is(err, access.ErrCorrupt):
		return "restore the file from a copy; a running server goes on with the last good one"
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.EISDIR):
		return "--state wants the directory that serve uses"
	}
	return ""
}

// require marks flags as required.
func require(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		if err := cmd.MarkFlagRequired(name); err != nil {
			// The flag was not defined: a mistake in this file.
			panic(err)
		}
	}
}

// listedKey is a row of keys list; it never holds the key or its hash.
type listedKey struct {
	ID        string     `json:"id"`
	Tenant    string     `json:"tenant"`
	Surface   string     `json:"surface"`
	Plan      string     `json:"plan"`
	Status    string     `json:"status"`
	Name      string     `json:"name,omitempty"`
	Scopes    []string   `json:"scopes,omitempty"`
	CreatedAt time.Time  `json:"created_at"`
	ExpiresAt *time.Time `json:"expires_at"`
	RevokedAt *time.Time `json:"revoked_at"`
	LastUsed  *time.Time `json:"last_used_at"`
}

func keysList() *cobra.Command {
	var s stateFlags
	cmd := &cobra.Command{
		Use: "list --state DIR", Short: "List keys, never their text", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := access.ReadKeys(s.state)
			if err != nil {
				return s.failed(err)
			}

			// The last use is in the ledger, which the server writes while this reads.
			used, err := access.ReadLastUse(s.state)
			if err != nil {
				return s.failed(err)
			}

			now := time.Now()
			rows := []listedKey{}
			for _, k := range file.Keys {
				row := listedKey{
					ID: k.ID, Tenant: k.Tenant, Surface: k.Surface, Plan: file.Tenants[k.Tenant].Plan,
					Status: k.Status(now), Name: k.Name,
					Scopes: k.Scopes, CreatedAt: k.CreatedAt, ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
				}
				if at, ok := used[k.ID]; ok {
					row.LastUsed = &at
				}
				rows = append(rows, row)
			}

			var cells [][]any
			for _, r := range rows {
				last := "never"
				if r.LastUsed != nil {
					last = r.LastUsed.Format(time.RFC3339)
				}
				cells = append(cells, []any{r.ID, r.Tenant, r.Surface, r.Plan, r.Status, last, r.Name})
			}
			return list(cmd, s.asJSON, rows, "ID\tTENANT\tSURFACE\tPLAN\tSTATUS\tLAST USED\tNAME", cells)
		},
	}

	s.add(cmd)
	return cmd
}

func keysRevoke() *cobra.Command {
	var s stateFlags
	cmd := &cobra.Command{
		Use: "revoke ID --state DIR", Short: "Make a key stop working within 2 seconds", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var key *access.Key
			err := s.update(func(f *access.KeyFile) (err error) {
				key, err = f.Revoke(args[0], time.Now())
				return err
			})
			if err != nil {
				return err
			}
			return say(cmd, s.asJSON, map[string]any{"id": key.ID, "revoked_at": key.RevokedAt}, "revoked %s", key.ID)
		},
	}

	s.add(cmd)
	return cmd
}

func keysRotate() *cobra.Command {
	var s stateFlags
	var overlap time.Duration
	cmd := &cobra.Command{
		Use: "rotate ID --state DIR", Short: "Create a key that follows another, which keeps working for the overlap",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if overlap < 0 {
				return fail(exitUsage, "", fmt.Errorf("cannot use --overlap %s: want 0 or more", overlap))
			}

			var key *access.Key
			var text, plan string
			err := s.update(func(f *access.KeyFile) (err error) {
				key, text, err = f.Rotate(args[0], overlap, time.Now())
				if err == nil {
					plan = f.Tenants[key.Tenant].Plan
				}
				return err
			})
			if err != nil {
				return err
			}
			return printIssued(cmd, s.asJSON, key, plan, text)
		},
	}

	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key keeps working")
	s.add(cmd)
	return cmd
}
