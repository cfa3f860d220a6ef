package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// badValues are values that a flag must refuse as a mistake in the command line, by the flag's name
// on whichever command. Numbers and truths are tried with what is neither besides.
var badValues = map[string][]string{
	"access-log-sample":           {"0", "-1"},
	"admin":                       {"nonsense", "127.0.0.1:notaport", "127.0.0.1:70000"},
	"base":                        {"nonsense", "../../etc"},
	"base-url":                    {"cards.example.com", "ftp://cards.example.com", "https://cards.example.com/?q"},
	"cards":                       {"-1", "299"},
	"collected-at":                {"yesterday", "2026-08-22"},
	"config":                      {"nowhere.toml"},
	"control":                     {"mysql://host/cards", "postgres://host", "nonsense"},
	"credits":                     {"-1"},
	"currency":                    {"usd", "dollars"},
	"price":                       {"-1", "free", "1.234"},
	"overage-price":               {"-1", "1,5"},
	"stats-window":                {"8d"},
	"per-minute":                  {"0", "-1", "10000001"},
	"day":                         {"tomorrow", "2026-13-01"},
	"days":                        {"nowhere"},
	"date":                        {"yesterday", "2026-13-01"},
	"acks":                        {"all"},
	"activate-in":                 {"-1s", "soon"},
	"from":                        {"store", "s3://"},
	"publisher":                   {"nonsense"},
	"publishers":                  {"nonsense"},
	"to":                          {"store", "s3://"},
	"compat":                      {"magic", ""},
	"drain-lead":                  {"-1s", "11s", "soon", "0.5"},
	"expires":                     {"tomorrow", "2020-01-01T00:00:00Z"},
	"format":                      {"xml"},
	"games":                       {"chess", "pokemon,chess"},
	"image-interval":              {"-1s", "soon"},
	"interval":                    {"-1s", "99ms", "soon"},
	"keep":                        {"-1"},
	"listen":                      {"nonsense", "127.0.0.1:notaport", "127.0.0.1:70000"},
	"log-format":                  {"xml"},
	"limit":                       {"-1"},
	"max-connections":             {"-1"},
	"max-connections-per-address": {"-1"},
	"metering":                    {"http://cache", "redis://a,b", "nonsense"},
	"min-cents":                   {"-1"},
	"min-percent":                 {"-1", "NaN"},
	"month":                       {"october", "2026-13", "2026-10-01"},
	"name":                        {strings.Repeat("n", 101), "a\nb"},
	"bulk":                        {"maybe"},
	"overlap":                     {"-1h", "long"},
	"override":                    {"nonsense"},
	"plan":                        {"no plan", ""},
	"prices":                      {"nonsense", "excel:feed", "tcgcsv:"},
	"prefix":                      {"a b", ""},
	"reason":                      {"without an override"},
	"scopes":                      {"nonsense"},
	"seed":                        {"-1"},
	"since":                       {"yesterday", "2026-13-01"},
	"site-url":                    {"cards.example.com"},
	"snapshot-at":                 {"yesterday", "2026-08-22"},
	"source":                      {"nonsense", "excel:feed", "tcgcsv:"},
	"languages":                   {"tlh", "de,tlh"},
	"names":                       {"nowhere.tsv"},
	"state":                       {"redis://host/0"},
	"store":                       {"s3://"},
	"surface":                     {"moon"},
	"tenant":                      {"two words"},
	"tls-cert":                    {"cert.pem"}, // without its key
	"tls-key":                     {"key.pem"},
	"until":                       {"yesterday", "2026-13-01"},
	"url":                         {"nonsense", "ftp://127.0.0.1"},
	"user-agent":                  {"a\nb", "Poké"},
}

// freeFlags take any text: a fault only shows at use, or in comparison with the present state.
var freeFlags = []string{
	"ninepocket snapshot rollback --reason",
	"access-log", "bulk-dir", "image-cache", "images", "into", "key", "log", "mapping", "ready-file",
	"store-cache",
	"ninepocket usage --tenant", "contact",
	"ninepocket tenants suspend --reason", "ninepocket tenants resume --reason", "ninepocket tenants delete --reason",
	"ninepocket usage --tenant", "ninepocket restore --backup",
}

// goodArgs are what a command wants besides the flag that is tried.
var goodArgs = map[string][]string{
	"ninepocket request":          {"req_x"},
	"ninepocket feed pull":        {"tcgcsv", "--into", "feed"},
	"ninepocket mapping suggest":  {"--source", "native:nowhere", "--into", "mapping"},
	"ninepocket snapshot build":   {"--source", "native:nowhere"},
	"ninepocket snapshot publish": {"latest"},
	"ninepocket snapshot inspect": {"latest"},
	"ninepocket snapshot verify":  {"latest"},
	"ninepocket snapshot pin":     {"latest"},
	"ninepocket snapshot unpin":   {"latest"},
	"ninepocket snapshot hold":    {"latest"},
	"ninepocket snapshot unhold":  {"latest"},
	"ninepocket snapshot diff":    {},
	"ninepocket snapshot explain": {"card_x"},
	"ninepocket keys create":      {"--tenant", "acme", "--plan", "preview", "--surface", "preview"},
	"ninepocket keys revoke":      {"key_x"},
	"ninepocket keys rotate":      {"key_x"},
	"ninepocket tenants show":     {"acme"},
	"ninepocket tenants export":   {"acme"},
	"ninepocket tenants set-plan": {"acme", "--plan", "preview", "--surface", "preview"},
	"ninepocket tenants suspend":  {"acme", "--reason", "why"},
	"ninepocket tenants resume":   {"acme", "--reason", "why"},
	"ninepocket tenants delete":   {"acme", "--reason", "why", "--yes"},
	"ninepocket fleet forget":     {"f3a94c0217be5d68"},
	"ninepocket plans set":        {"tiny", "--price", "1", "--currency", "USD"},
	"ninepocket plans remove":     {"tiny"},
}

// TestBadFlagsAreUsageErrors gives every flag of every command what it must refuse: exit code 2,
// the flag or its setting named, and nothing done.
func TestBadFlagsAreUsageErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll(filepath.Join("store", "snapshots"), 0o750); err != nil {
		t.Fatal(err)
	}

	tried := map[string]bool{}
	for _, cmd := range commandsBelow(rootCommand()) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			tried[f.Name] = true
			path := cmd.CommandPath() + " --" + f.Name
			if f.Name == "help" || slices.Contains(freeFlags, f.Name) || slices.Contains(freeFlags, path) {
				return
			}
			bad := badValues[f.Name]
			switch f.Value.Type() {
			case "bool":
				bad = append(slices.Clone(bad), "maybe")
			case "int", "int64", "uint64", "float64":
				bad = append(slices.Clone(bad), "many", "1e999")
			}
			if len(bad) == 0 {
				t.Errorf("%s: no value is known that it must refuse; is it free?", path)
			}
			for _, value := range bad {
				isUsageError(t, cmd, f.Name, value)
			}
		})
	}

	for name := range badValues {
		if !tried[name] {
			t.Errorf("there is no flag --%s", name)
		}
	}

	left, err := filepath.Glob("*")
	if err != nil || !slices.Equal(left, []string{"store"}) {
		t.Errorf("something was made: %v, %v", left, err)
	}
}

// commandsBelow are the commands that do something, hidden ones left out.
func commandsBelow(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Hidden {
			continue
		}
		if !sub.HasSubCommands() {
			all = append(all, sub)
		}
		all = append(all, commandsBelow(sub)...)
	}
	return all
}

// isUsageError runs a command with one flag that is bad. A command that still starts ends at once.
func isUsageError(t *testing.T, cmd *cobra.Command, flag, value string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := append(strings.Fields(cmd.CommandPath())[1:], goodArgs[cmd.CommandPath()]...)
	for _, required := range []string{"store", "state"} {
		if f := cmd.Flags().Lookup(required); f != nil && flag != required {
			args = append(args, "--"+required, required)
		}
	}

	args = append(args, "--"+flag+"="+value)
	var stdout, stderr bytes.Buffer
	if code := run(ctx, args, &stdout, &stderr); code != exitUsage || !strings.HasPrefix(stderr.String(),
		"ninepocket: cannot ") {
		t.Errorf("%q: exit code %d, want %d\n%s%s", args, code, exitUsage, &stdout, &stderr)
	}
}

// TestUnreadable wants a store and a state directory of somebody else to be named with who could
// read them.
func TestUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("skipped: unreadable folders, because root reads all of them")
	}

	dir := t.TempDir()
	store := filepath.Join(dir, "store")
	state := filepath.Join(dir, "state")
	o := &operator{t, store}
	o.does(exitOK, "snapshot", "build", "--source", "native:../../docs/examples/native", "--publish")
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"keys", "create", "--state", state, "--tenant", "acme", "--plan", "free"},
		&out, &errs); code != exitOK {
		t.Fatal(errs.String())
	}

	for _, folder := range []string{store, state} {
		if err := os.Chmod(folder, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(folder, 0o700) })
	}

	for _, args := range [][]string{
		{"snapshot", "list", "--store", store},
		{"snapshot", "publish", "latest", "--store", store},
		{"snapshot", "rollback", "--store", store},
		{"snapshot", "prune", "--store", store},
		{"snapshot", "inspect", "current", "--store", store},
		{"keys", "list", "--state", state},
		{"keys", "revoke", "key_x", "--state", state},
		{"usage", "--state", state},
		{"keys", "create", "--state", state, "--tenant", "acme", "--plan", "free"},
	} {
		out.Reset()
		errs.Reset()
		if code := run(t.Context(), args, &out, &errs); code != exitFailure || out.Len() > 0 ||
			!strings.Contains(errs.String(), "permission denied") ||
			!strings.Contains(errs.String(), "hint: run this as the user") || strings.Contains(errs.String(),
			"keys create") {
			t.Errorf("%q: exit code %d\n%s%s", args, code, &out, &errs)
		}
	}
}
