package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/access"
)

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

// issuing is a change of a keys file that makes a key, and describes it. The plan is the tenant's,
// which may have had one before.
func issuing(made *issuedKey, create func(*access.KeyFile) (*access.Key, string, error)) func(*access.KeyFile) error {
	return func(f *access.KeyFile) error {
		k, text, err := create(f)
		if err == nil {
			*made = issuedKey{
				ID: k.ID, Key: text, Tenant: k.Tenant, Surface: k.Surface, Plan: f.Tenants[k.Tenant].Plan, Name: k.Name,
				Scopes: k.Scopes, ExpiresAt: k.ExpiresAt,
			}
		}
		return err
	}
}

// print prints the text of the key alone for a script that wants no JSON.
func (k *issuedKey) print(cmd *cobra.Command, asJSON bool) error {
	if !asJSON {
		defer cmd.PrintErrf("key %s of tenant %s, plan %s: it is shown this once, only its hash is kept\n",
			k.ID, k.Tenant, k.Plan)
	}
	return say(cmd, asJSON, k, "%s", k.Key)
}

// createFlags are the flags of keys create.
type createFlags struct {
	stateFlags
	access.NewKey
	surface, expires string
	scopes           []string
	credits          int64
}

func keysCreate() *cobra.Command {
	var c createFlags
	cmd := &cobra.Command{
		Use:     "create --state DIR --tenant T --surface live|preview|sandbox --plan P",
		Short:   "Create a key and print it once",
		Example: "  ninepocket keys create --state state --tenant acme --surface live --plan starter",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return c.run(cmd, time.Now()) },
	}

	f := cmd.Flags()
	f.StringVar(&c.Tenant, "tenant", "", "`NAME` of the organization that the key belongs to")
	f.StringVar(&c.surface, "surface", "live", "live, preview or sandbox")
	f.StringVar(&c.Plan, "plan", "",
		"plan of the tenant: free, starter, pro, business, unlimited, preview, or a configured one")
	f.StringSliceVar(&c.scopes, "scopes", nil, "scopes of a preview key (default: all)")
	f.StringVar(&c.expires, "expires", "", "`TIME` when the key stops working, RFC 3339")
	f.StringVar(&c.Name, "name", "", "a name for people")
	f.Int64Var(&c.credits, "credits", 0, "credits a period of a preview tenant (default: the plan's)")
	f.BoolVar(&c.ChangePlan, "change-plan", false, "let --plan replace the tenant's plan")
	c.add(cmd)
	require(cmd, "tenant", "plan")
	return cmd
}

func (c *createFlags) run(cmd *cobra.Command, now time.Time) error {
	if cmd.Flags().Changed("credits") {
		c.Credits = &c.credits
	}
	if err := c.read(now); err != nil {
		return err
	}

	var made issuedKey
	err := access.UpdateKeys(c.folder, issuing(&made, func(f *access.KeyFile) (*access.Key, string, error) {
		return f.Create(c.NewKey, now)
	}))
	if err != nil {
		return err
	}

	if _, known := access.DefaultPlans()[made.Plan]; !known {
		cmd.PrintErrf("note: plan %q is not built in: the key gets 503 until the server's configuration has it\n",
			made.Plan)
	}
	return made.print(cmd, c.asJSON)
}

// read takes over the flags that are more than text, naming every problem.
func (c *createFlags) read(now time.Time) error {
	var wrong problems
	var err error
	c.Kind, err = access.ParseKind(c.surface)
	wrong.add(err)
	c.Scopes, err = access.ParseScopes(c.scopes)
	wrong.add(err)

	if c.expires != "" {
		c.Expires = new(wrong.time("expires", c.expires, "2027-01-31T00:00:00Z"))
	}

	// A surface or a scope that could not be read would only be complained of twice.
	if wrong.err() == nil {
		wrong.add(c.Validate(now))
	}
	return fail(exitUsage, "", wrong.err())
}

// update changes keys that are there: nothing but create begins a state directory.
func (s *stateFlags) update(change func(*access.KeyFile) error) error {
	if _, err := access.ReadKeys(s.folder); err != nil {
		return err
	}
	return access.UpdateKeys(s.folder, change)
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
	return s.add(&cobra.Command{
		Use: "list --state DIR", Short: "List keys, never their text", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := access.ReadKeys(s.folder)
			if err != nil {
				return err
			}

			// The last use is in the ledger, which the server writes while this reads.
			used, err := access.ReadLastUse(s.folder)
			if err != nil {
				return err
			}

			now := time.Now()
			// An empty list is [] for scripts, and never null.
			rows := []listedKey{}
			for _, k := range file.Keys {
				row := listedKey{
					ID: k.ID, Tenant: k.Tenant, Surface: k.Surface, Plan: file.Tenants[k.Tenant].Plan,
					Status: k.Status(now), Name: k.Name, Scopes: k.Scopes, CreatedAt: k.CreatedAt,
					ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
				}
				if at, ok := used[k.ID]; ok {
					row.LastUsed = &at
				}
				rows = append(rows, row)
			}

			return list(cmd, s.asJSON, rows, "ID\tTENANT\tSURFACE\tPLAN\tSTATUS\tLAST USED\tNAME", listedKey.cells)
		},
	})
}

func (r listedKey) cells() []any {
	last := "never"
	if r.LastUsed != nil {
		last = r.LastUsed.Format(time.RFC3339)
	}
	return []any{r.ID, r.Tenant, r.Surface, r.Plan, r.Status, last, r.Name}
}

func keysRevoke() *cobra.Command {
	var s stateFlags
	return s.add(&cobra.Command{
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
	})
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

			var made issuedKey
			err := s.update(issuing(&made, func(f *access.KeyFile) (*access.Key, string, error) {
				return f.Rotate(args[0], overlap, time.Now())
			}))
			if err != nil {
				return err
			}
			return made.print(cmd, s.asJSON)
		},
	}

	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key keeps working")
	s.add(cmd)
	return cmd
}
