package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/settings"
	"ninepocket/snapshot"
)

// everydaySays is what the answer to a question of the table has, at the least.
var everydaySays = map[string]string{
	"what is served, and since when":                   `(?m)^published +\d{8}T\S+ since \d{4}-`,
	"did last night's work go well":                    `(?m)^last day .* publish `,
	"why not":                                          `refuse .*minimum_cards: `,
	"what is held or unlisted":                         `(?s)held groups +none.*unlisted +0 cards`,
	"which days are missing":                           `"missing_days": \[\]`,
	"what changed since yesterday, and by how much":    `prices: \d+ in both`,
	"why has this card no price":                       `near_mint`,
	"where does this price come from":                  `example-shop +2026-08-22`,
	"who published, who rolled back":                   `(?s) rollback .* publish `,
	"who called yesterday, and how much":               `TENANT +SURFACE +PLAN`,
	"what does a tenant owe":                           `TENANT +MONTH +PLAN .*AMOUNT`,
	"which keys has a tenant, and when were they used": `key_\S+`,
	"a tenant gets a larger plan":                      `plan of acme`,
	"a tenant is stopped":                              `acme`,
	"a tenant goes on":                                 `acme`,
	"a tenant is deleted":                              `deleted acme: its calls stay under tenant_`,
	"what became of this request":                      `acme .* 200 `,
	"is the disk enough":                               `(?m)^store disk .* free, .* needed$`,
	"is the backup good":                               `everything is whole`,
	"what must I do now":                               `(?m)^1\. \S`,
}

// everydayRow is a row of the table: the question, and the command behind the program's name.
var everydayRow = regexp.MustCompile("(?m)^\\| ([^|`]+) \\| `ninepocket ([^`]+)` \\|$")

// TestEverydayQuestions runs the command of each row of the table in docs/DAILY.md, without a flag more, over a
// small shop: it must answer the question, within a second.
func TestEverydayQuestions(t *testing.T) { // air: one step
	page, err := os.ReadFile("../../docs/DAILY.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := everydayRow.FindAllStringSubmatch(string(page), -1)
	if len(rows) != 20 || len(everydaySays) != 20 {
		t.Fatalf("the table has %d questions, and the test %d", len(rows), len(everydaySays))
	}

	shop := newEverydayShop(t)
	for _, row := range rows {
		question := row[1]
		words := strings.Fields(shop.Replace(row[2]))
		var out, errs bytes.Buffer
		begun := time.Now()
		code := run(t.Context(), words, &out, &errs)
		took := time.Since(begun)
		// Nobody serves here, and the prices of the example are old.
		want := map[bool]int{true: exitRefused, false: exitOK}[words[0] == "status"]
		if says := everydaySays[question]; code != want || says == "" || !regexp.MustCompile(says).Match(out.Bytes()) {
			t.Errorf("%s: ninepocket %s: exit code %d, want %d, and %q\n%s%s", question, row[2], code, want, says, &out,
				&errs)
		}
		// Other tests run beside this one.
		if took > 3*time.Second {
			t.Errorf("%s: ninepocket %s took %s", question, row[2], took)
		}
	}
}

// newEverydayShop goes into a folder with a configuration, a store that was published, rolled back and
// refused, two tenants, a backup and a log. It returns what stands for the words in capitals.
func newEverydayShop(t *testing.T) *strings.Replacer {
	t.Helper()
	prepared.once.Do(func() { prepare(t) })
	example, err := filepath.Abs("../../docs/examples/native")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.CopyFS(".", os.DirFS(prepared.folder)); err != nil {
		t.Fatal(err)
	}
	config := "store = 'store'\nstate = 'state'\naccess_log = 'access.log'\nadmin = '127.0.0.1:1'\n"
	backups := slices.ContainsFunc(settings.Settings, func(s *settings.Setting) bool { return s.Key == "backup.into" })
	if backups {
		config += "[backup]\ninto = 'backups'\n"
	}
	log := `{"time":"2026-11-26T12:00:00Z","request_id":"req_a","tenant":"acme","status":200}` + "\n"
	for name, text := range map[string]string{"np.toml": config, "access.log": "", "access.log.1": log} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("NINEPOCKET_CONFIG", "np.toml")

	does := func(code int, words ...string) {
		t.Helper()
		var out, errs bytes.Buffer
		if got := run(t.Context(), words, &out, &errs); got != code {
			t.Fatalf("ninepocket %s: exit code %d, want %d\n%s%s", strings.Join(words, " "), got, code, &out, &errs)
		}
	}
	build := []string{"snapshot", "build", "--source", "native:" + example, "--publish", "--snapshot-at"}
	t.Setenv("NINEPOCKET_GUARDS__MINIMUM_CARDS", "1000")
	does(exitRefused, append(build, "2026-08-23T20:00:00Z")...)
	t.Setenv("NINEPOCKET_GUARDS__MINIMUM_CARDS", "1")
	for _, at := range []string{"2026-08-24T20:00:00Z", "2026-08-25T20:00:00Z"} {
		does(exitOK, append(build, at, "--override", "repeated_feed", "--reason", "it is the example")...)
	}
	does(exitOK, "snapshot", "rollback", "--reason", "a try")
	does(exitOK, append(build, "2026-08-26T20:00:00Z", "--override", "repeated_feed", "--reason", "as before")...)
	if backups {
		does(exitOK, "backup")
	}
	catalog, err := snapshot.OpenStore("store").Load(t.Context(), (&operator{t, "store"}).current(), nil)
	if err != nil {
		t.Fatal(err)
	}
	card := catalog.Cards.ID.At(0)
	return strings.NewReplacer("TENANT", "acme", "CARD", card, "REQUEST_ID", "req_a", "TEXT", "because")
}
