package settings

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access/keys"
)

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ninepocket.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// noWarning fails on a variable that means nothing.
func noWarning(t *testing.T) func(string) {
	return func(name string) { t.Errorf("warned of %s", name) }
}

func TestLayersOfConfiguration(t *testing.T) {
	path := writeConfig(t, "listen = \":1\"\nadmin = \":2\"\nbase-url = \"https://a.example\"\n"+
		"mcp = { allowed_hosts = [\"x\", \"y\"] }\n[plans.free]\nper_minute = 5\n[plans.\"a.b\"]\nper_day = 7\n"+
		"stats_window = \"7d\"\n")
	layered, err := Read(path, []string{
		"NINEPOCKET_ADMIN=:3", "NINEPOCKET_PLANS__FREE__PER_DAY=9", "NINEPOCKET_SURFACES=live, preview,", "HOME=/",
	}, noWarning(t))
	if err != nil {
		t.Fatal(err)
	}

	want := Default()
	want.Listen = ":1"
	want.Admin = ":3"
	want.BaseURL = "https://a.example"
	want.MCP.AllowedHosts = []string{"x", "y"}
	want.Plans = map[string]*Plan{"free": {PerMinute: 5, PerDay: 9}, "a.b": {PerDay: 7, StatsWindow: "7d"}}
	if diff := cmp.Diff(want, layered.Config); diff != "" {
		t.Error(diff)
	}

	from := map[string]string{
		"listen": path + ":1", "admin": "environment NINEPOCKET_ADMIN", "base_url": path +
			":3", "mcp.allowed_hosts": path + ":4",
		"plans.free.per_minute": path + ":6", "plans.free.per_day": "environment NINEPOCKET_PLANS__FREE__PER_DAY",
		`plans."a.b".per_day`: path + ":8", `plans."a.b".stats_window`: path +
			":9", "surfaces": "environment NINEPOCKET_SURFACES",
	}
	if diff := cmp.Diff(from, layered.origins); diff != "" {
		t.Error(diff)
	}
}

func TestEveryConfigurationProblemIsNamed(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		_, err := Read(writeConfig(t, text), nil, noWarning(t))
		if err == nil {
			t.Errorf("%q was accepted", text)
			return
		}

		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: error %q does not say %q", text, err, w)
			}
		}
	}

	f("lisen = 1\nlog = 2", `line 1: unknown key lisen`, `line 2: unknown key log`, "   2 | log = 2")
	f("listen = 1", "line 1: cannot use listen: want text in quotes")
	f("surfaces = \"live\"", "cannot use surfaces: want a list")
	f("surfaces = [1]", "cannot use surfaces: want a list")
	f("[plans.free]\nper_minute = \"5\"", "line 2: cannot use plans.free.per_minute: want an integer")
	f("[plans.free]\nper_hour = 5", "line 2: unknown key plans.free.per_hour")
	f("[[plans.free]]\nper_minute = 5", "line 1: unknown key plans.free")
	f("[plans]\nfree = {per_day = 1}\npro = {per_hour = 1}", "line 3: unknown key plans.pro.per_hour")
	f("[plans]\nfree = {per_day = 1}\npro = {per_day = '1'}", "cannot use plans.pro.per_day: want an integer")
	f("[nonsense]", "line 1: unknown key nonsense")
	f("[listen]", "listen must be a value, not a table")
	f("mcp = 3", "unknown key mcp")
	f("mcp = { hosts = [] }", "line 1: unknown key mcp.hosts")
	f("base_url = \"https://a\"\nbase-url = \"https://b\"", "line 2: base-url is also given at", ":1")
	f("listen = \":1\"\nlisten = \":2\"", "line 2")
	f("listen = ", "line 1, column")
	f("stat = \"redis://u:hidden@h\"", "redis://u:***@h")
	f("state = \"redis://u:hidden@h\nx", "line 1")
	_, err := Read("nowhere.toml", []string{"NINEPOCKET_PLANS__FREE__PER_MINUTE=x"}, noWarning(t))
	if err == nil || !strings.Contains(err.Error(), "nowhere.toml") || !strings.Contains(err.Error(), "PER_MINUTE") {
		t.Errorf("not both Problems are named: %v", err)
	}
}

func TestUnknownEnvironmentIsAWarning(t *testing.T) {
	var warned []string
	_, err := Read("", []string{
		"NINEPOCKET_PORT=tcp://10.0.0.1", "NINEPOCKET_PLANS=x",
		"NINEPOCKET_MCP__HOSTS=x",
	}, func(name string) {
		warned = append(warned, name)
	})
	if want := []string{"NINEPOCKET_MCP__HOSTS", "NINEPOCKET_PLANS", "NINEPOCKET_PORT"}; err != nil ||
		!slices.Equal(warned, want) {
		t.Errorf("warned of %v, %v, want %v", warned, err, want)
	}
}

// TestExampleConfigRoundTrips checks the file of config init: as written it changes nothing,
// and with every key uncommented it says the defaults.
func TestExampleConfigRoundTrips(t *testing.T) {
	text := string(Example())
	layered, err := Read(writeConfig(t, text), nil, noWarning(t))
	if diff := cmp.Diff(Default(), layered.Config); err != nil || diff != "" {
		t.Errorf("as written: %v %s", err, diff)
	}

	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "# ") {
			lines[i] = line[1:]
		}
	}

	layered, err = Read(writeConfig(t, strings.Join(lines, "\n")), nil, noWarning(t))
	if err == nil {
		err = layered.Validate()
	}
	if err != nil {
		t.Fatalf("uncommented: %v", err)
	}

	plain := Default()
	var want, got []string
	plain.eachSetting(func(setting *Setting, name string, whole *Config) {
		want = append(want, dotted(setting.path(name))+" = "+tomlValue(setting.value(whole, name)))
	})
	layered.eachSetting(func(setting *Setting, name string, whole *Config) {
		got = append(got, dotted(setting.path(name))+" = "+tomlValue(setting.value(whole, name)))
		if layered.origins[dotted(setting.path(name))] == "" {
			t.Errorf("%s is not in the file", dotted(setting.path(name)))
		}
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func printConfig(t *testing.T, layered *Merged) string {
	t.Helper()
	var text strings.Builder
	out := bufio.NewWriter(&text)
	layered.Print(out)
	if err := out.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// TestPrintedConfigRoundTrips reads what config print prints.
func TestPrintedConfigRoundTrips(t *testing.T) {
	path := writeConfig(t, "state = \"redis://u:hidden@h/0\"\nstore = \"a \\\"b\\\"\\t\\u007f\"\ncors_origins = "+
		"[\"https://a\", \"https://b\"]\n[plans.x]\nper_day = 4\n")
	layered, err := Read(path, nil, noWarning(t))
	if err != nil {
		t.Fatal(err)
	}

	out := printConfig(t, &layered)
	if strings.Contains(out, "hidden") {
		t.Errorf("a password was printed:\n%s", out)
	}

	again, err := Read(writeConfig(t, out), nil, noWarning(t))
	if err != nil {
		t.Fatal(err)
	}
	off := false
	if again.Store != "a \"b\"\t\x7f" || !reflect.DeepEqual(*again.Plans["x"], Plan{
		PerMinute: 30, PerDay: 4, MaxCards: 200,
		MaxPrices: 100, HistoryDays: 365, StatsWindow: "90d", Bulk: &off,
	}) {
		t.Errorf("read back: %+v, plan %+v", again.Config, again.Plans["x"])
	}
}

// TestEveryFieldIsASetting finds fields of the configuration that the table of settings forgot.
func TestEveryFieldIsASetting(t *testing.T) {
	// A map with a value a guard.
	config := Config{Guards: defaultGuards()}
	reached := map[uintptr]bool{}
	for i := range Settings {
		reached[reflect.ValueOf(Settings[i].Pointer(&config, "x")).Pointer()] = true
	}

	if len(reached) != len(Settings) {
		t.Errorf("%d settings lead to %d fields", len(Settings), len(reached))
	}
	var visit func(v reflect.Value, name string)
	visit = func(v reflect.Value, name string) {
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				visit(v.Field(i), name+"."+v.Type().Field(i).Name)
			}
		case v.Kind() == reflect.Map:
			for _, key := range v.MapKeys() {
				visit(v.MapIndex(key).Elem(), name+".x")
			}
		case !reached[v.Addr().Pointer()]:
			t.Errorf("config%s has no setting", name)
		}
	}
	visit(reflect.ValueOf(&config).Elem(), "")
}

// FuzzConfigFile reads any file: it is taken whole or refused with its name, and what was taken
// prints as a file that is taken again.
func FuzzConfigFile(f *testing.F) {
	for _, seed := range []string{
		"", "listen = \":1\"\n", "mcp = { allowed_hosts = [\"x\"] }", "[plans.\"a.b\"]\r\nper_day = 7",
		"[[plans]]\nx = 1", "\xef\xbb\xbfstore = ''",
		"a.b.c = {d.e = [1, {f = 2}]}", "[plans]\nfree.per_minute = 3 # x", "plans.free = {per_minute = 3}",
	} {
		f.Add([]byte(seed))
	}

	f.Fuzz(func(t *testing.T, text []byte) {
		layered := Merged{Config: Default(), origins: map[string]string{}}
		if err := layered.readTOML("x.toml", text); err != nil {
			if !strings.Contains(err.Error(), `"x.toml"`) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if layered.Validate() != nil {
			// A plan that is out of bounds prints as it comes out.
			return
		}

		out := printConfig(t, &layered)
		again := Merged{Config: Default(), origins: map[string]string{}}
		if err := again.readTOML("x.toml", []byte(out)); err != nil {
			t.Errorf("%q prints as %s: %v", text, out, err)
		}
	})
}

func TestValuesOfEveryKind(t *testing.T) {
	var text string
	var truth bool
	var n int
	var long int64
	var share float64
	var list []string
	good := func(ptr, v any, asText string) {
		t.Helper()
		if err := setTOML(ptr, v); err != nil {
			t.Errorf("TOML %v: %v", v, err)
		}
		if err := setText(ptr, asText); err != nil {
			t.Errorf("text %q: %v", asText, err)
		}
	}

	good(&text, "a", "b")
	good(&truth, false, "true")
	good(&n, int64(1), "2")
	good(&long, int64(1), "3")
	good(&share, int64(1), "0.05")
	good(&list, []any{"a"}, "b, c")
	if text != "b" || !truth || n != 2 || long != 3 || share != 0.05 || !slices.Equal(list, []string{"b", "c"}) {
		t.Error(text, truth, n, long, share, list)
	}

	for _, bad := range []struct {
		at     any
		v      any
		asText string
	}{{&truth, "true", "yes please"}, {&n, 1.5, "1.5"}, {&long, true, ""}, {&share, "1", "NaN"}} {
		if setTOML(bad.at, bad.v) == nil || setText(bad.at, bad.asText) == nil {
			t.Errorf("%T took %v or %q", bad.at, bad.v, bad.asText)
		}
	}
}

func TestRedact(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	f("redis://a/0?sentinel_passwrd=secret&pwd=secret&pass=secret&password_file=/f",
		"redis://a/0?sentinel_passwrd=***&pwd=***&pass=***&password_file=/f")

	f("/var/lib", "/var/lib")
	f("redis://host:6379/0", "redis://host:6379/0")
	f("redis://user@host", "redis://user@host")
	f("redis://:pw@host", "redis://:***@host")
	f("redis://u:p@ss w:rd@host:1/0", "redis://u:***@host:1/0")
	f("redis://u:%zz@h", "redis://u:***@h")
	f("a@b.example://x", "a@b.example://x")
	f("postgres://u@h/db?password=pw&sslmode=require", "postgres://u@h/db?password=***&sslmode=require")
	f("postgres://u:pw@h/db?sslpassword=more", "postgres://u:***@h/db?sslpassword=***")
}

// TestPrices reads prices in minor units, and names every problem of all of them at once.
func TestPrices(t *testing.T) {
	t.Parallel()
	read := func(text string) (keys.Plans, error) {
		config, err := Read(writeConfig(t, text), nil, noWarning(t))
		if err != nil {
			return nil, err
		}
		return config.PlanTable()
	}

	plans, err := read("[plans.pro]\nprice = \"49.00\"\nincluded = 100000\noverage_price = \"1.5\"\n" +
		"currency = \"USD\"\n[plans.yen]\nprice = \"4900\"\nincluded = 0\ncurrency = \"JPY\"\n")
	want := keys.Price{Month: 4900, Included: 100_000, Overage: 150, Currency: "USD"}
	yen := keys.Price{Month: 4900, Currency: "JPY"}
	if err != nil || *plans["pro"].Price != want || *plans["yen"].Price != yen || plans["free"].Price != nil {
		t.Errorf("%v: %+v", err, plans["pro"])
	}

	_, err = read("[plans.a]\nprice = \"49,00\"\noverage_price = \"1.505\"\nincluded = -1\ncurrency = \"USD\"\n" +
		"[plans.b]\nprice = \"-4\"\ncurrency = \"EUR\"\n[plans.c]\nprice = \"1\"\n" +
		"[plans.d]\nincluded = 5\ncurrency = \"dollars\"\n[plans.e]\nprice = \"49.00\"\ncurrency = \"JPY\"\n")
	for _, problem := range []string{
		`plan "a": price is "49,00", want digits`, `plan "a": overage_price is "1.505", want at most 2 digits after`,
		`plan "a": included is -1`, `plan "b": price is "-4", want digits`, `plan "c": currency is ""`,
		`plan "d": it has neither price`, `plan "d": currency is "dollars"`,
		`plan "e": price is "49.00", want at most 0 digits after the point, as JPY has`,
	} {
		if err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%v lacks %s", err, problem)
		}
	}
	if _, err := read("[plans.pro]\nprice = 49.00\n"); err == nil || !strings.Contains(err.Error(), "text in quotes") {
		t.Errorf("a number: %v", err)
	}
}

// TestHookSecretsAreHidden looks for the secret and the path of a hook in everything that settings print.
func TestHookSecretsAreHidden(t *testing.T) {
	const secret, path = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "/T0PSECRET"
	good := "[notify]\nurl = 'https://hooks.example.com" + path + "'\nsecret = '" + secret + "'\n"
	hidden := func(what, text string) {
		t.Helper()
		for _, part := range []string{secret, secret[6:], "T0PSECRET"} {
			if strings.Contains(text, part) {
				t.Errorf("%s shows %s:\n%s", what, part, text)
			}
		}
	}

	layered, err := Read(writeConfig(t, good), nil, noWarning(t))
	if err == nil {
		err = layered.Validate()
	}
	if err != nil || layered.Notify.Secret != secret {
		t.Fatal(err)
	}
	out := printConfig(t, &layered)
	hidden("config print", out)
	if !strings.Contains(out, `url = "https://hooks.example.com/***"`) || !strings.Contains(out, `secret = "***"`) {
		t.Error(out)
	}
	other := layered
	other.Notify.Secret = "x"
	if keys := layered.FixedChanges(&other.Config); !slices.Equal(keys, []string{"notify.secret"}) {
		t.Errorf("changes %q", keys)
	}

	// Mistakes in every place, the environment included.
	for _, bad := range []string{
		good + "x = 1\n", "[notify]\nurl = 'https://hooks.example.com" + path + "\nsecret = '" + secret + "'\n",
		"[notify]\nurl = 'ftp://hooks.example.com" + path + "'\nsecret = 'T0PSECRET'\n",
		"notify = { url = 'https://hooks.example.com" + path + "', secret = '" + secret + "', x = 1 }\n",
		"[notify]\nsecret = ['" + secret + "']\nurl = ['https://h" + path + "']\n",
		"[notify]\nsecrets = '" + secret + "'\n",
		"[notify]\n\"secret\" = [ '" + secret + "' ]\n", "[notify]\nsecret = '''\n" + secret + "'''\nurl = '''\n",
	} {
		layered, err := Read(writeConfig(t, bad), nil, func(string) {})
		if err == nil {
			err = layered.Validate()
		}
		if err == nil {
			t.Errorf("no mistake in\n%s", bad)
			continue
		}
		hidden("an error", err.Error())
		hidden("config print", printConfig(t, &layered))
	}
	environ := []string{"NINEPOCKET_NOTIFY__URL=http://h" + path, "NINEPOCKET_NOTIFY__SECRET=T0PSECRET"}
	layered, err = Read("", environ, noWarning(t))
	if err == nil {
		err = layered.Validate()
	}
	hidden("an error", fmt.Sprint(err))
	hidden("config print", printConfig(t, &layered))
}
