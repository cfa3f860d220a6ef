package deploy_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	conf "ninepocket/internal/settings"
)

// freePort returns a port that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestCaddyfile lets Caddy check the file, and serves with it. The server gets the visitor's address even if the
// visitor claims another. Responses have the requested encoding. A restart is waited for, and no call is repeated.
func TestCaddyfile(t *testing.T) {
	caddy := tool(t, "caddy")
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	t.Setenv("XDG_DATA_HOME", dir)
	t.Setenv("XDG_CONFIG_HOME", dir)
	text := read(t, "caddy/Caddyfile")
	out := output(t, caddy, "validate", "--config", "caddy/Caddyfile", "--adapter", "caddyfile")
	if !strings.Contains(out, "Valid configuration") || strings.Contains(out, "not formatted") {
		t.Error(out)
	}

	// The same with other addresses, and without certificates.
	front := freePort(t)
	behind := freePort(t)
	for old, fresh := range map[string]string{
		"cards.example.com {": "http://" + front + " {", "127.0.0.1:8080 {": behind + " {",
		"{\n\tservers": "{\n\tadmin off\n\tservers",
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is there %d times", old, strings.Count(text, old))
		}
		text = strings.Replace(text, old, fresh, 1)
	}
	path := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(caddy, "run", "--config", path, "--adapter", "caddyfile")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()

	var mu sync.Mutex
	calls := map[string]int{}
	headers := map[string]http.Header{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		mu.Lock()
		calls[r.URL.Path]++
		headers[r.URL.Path] = r.Header.Clone()
		mu.Unlock()
		if r.URL.Path == "/broken" {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(rw, r.Host)
	}))

	ask := func(method, path string) (status int, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+front+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s: %v", path, resp.Header)
		}
		return resp.StatusCode, string(b)
	}

	// Nothing listens behind it yet: the first call waits until something does.
	for deadline := time.Now().Add(time.Minute); ; {
		conn, err := net.Dial("tcp", front)
		if err == nil {
			_ = conn.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond) // another process begins to listen
	}
	waited := make(chan string)
	go func() {
		status, body := ask(http.MethodGet, "/first")
		waited <- fmt.Sprint(status, " ", body)
	}()
	listener, err := net.Listen("tcp", behind)
	if err != nil {
		t.Fatal(err)
	}
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	defer server.Close()
	if got := <-waited; got != "200 "+front {
		t.Errorf("the first call: %s, want that the server sees the host that was asked", got)
	}
	mu.Lock()
	got := headers["/first"]
	mu.Unlock()
	if got.Get("X-Forwarded-For") != "127.0.0.1" || got.Get("X-Forwarded-Proto") != "http" ||
		got.Get("Accept-Encoding") != "identity" {
		t.Errorf("the server got %v", got)
	}
	for method, limit := range map[string]int{http.MethodPost: 1, http.MethodGet: 2} {
		mu.Lock()
		clear(calls)
		mu.Unlock()
		status, _ := ask(method, "/broken")

		mu.Lock()
		if status != http.StatusBadGateway || calls["/broken"] > limit {
			t.Errorf("a %s that broke off: %d after %d calls, want 502 after %d", method, status, calls["/broken"],
				limit)
		}
		mu.Unlock()
	}
}

// TestLogrotate rotates a log with the file, in other places and for the user of the test.
func TestLogrotate(t *testing.T) {
	logrotate := tool(t, "logrotate")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	group, err := user.LookupGroupId(me.Gid)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	text := read(t, "logrotate/ninepocket")
	for old, fresh := range map[string]string{
		"/var/log/ninepocket/access.log":      dir + "/access.log",
		"su ninepocket ninepocket":            "su " + me.Username + " " + group.Name,
		"0640 ninepocket ninepocket":          "0640 " + me.Username + " " + group.Name,
		"systemctl reload ninepocket.service": "echo reloaded >>" + dir + "/reloads",
	} {
		if strings.Count(text, old) != 1 {
			t.Fatalf("%q is there %d times", old, strings.Count(text, old))
		}
		text = strings.Replace(text, old, fresh, 1)
	}
	path := filepath.Join(dir, "conf")
	log := filepath.Join(dir, "access.log")
	for name, content := range map[string]string{path: text, log: "{}\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	state := filepath.Join(dir, "state")
	if out := output(t, logrotate, "--debug", "--state", state, path); strings.Contains(out, "error") {
		t.Error(out)
	}
	for range 3 {
		output(t, logrotate, "--force", "--state", state, path)
		if err := os.WriteFile(log, []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, dir+"/reloads"); got != strings.Repeat("reloaded\n", 3) {
		t.Errorf("the server is asked to open it again: %q", got)
	}
	compressed, _ := filepath.Glob(log + ".*.gz")
	rotated, _ := filepath.Glob(log + ".*")
	if len(rotated) != 3 || len(compressed) != 2 {
		t.Errorf("rotated %q, compressed %q", rotated, compressed)
	}
}

// TestDropIns lets systemd read each drop-in with its unit.
func TestDropIns(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	dropIns, err := filepath.Glob("systemd/drop-ins/*.conf")
	if err != nil || len(dropIns) < 5 {
		t.Fatalf("%q, %v", dropIns, err)
	}
	verify := func(unit, name, text string) string {
		t.Helper()
		dir := t.TempDir()
		path := filepath.Join(dir, unit)
		whole := regexp.MustCompile(`/usr/local/\S+`).ReplaceAllString(read(t, "systemd/"+unit), "/bin/true")
		if err := os.Mkdir(path+".d", 0o700); err != nil {
			t.Fatal(err)
		}
		for file, content := range map[string]string{path: whole, filepath.Join(path+".d", name): text} {
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		// Named units that are missing here belong to other packages.
		out, _ := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
		found := ""
		for line := range strings.Lines(string(out)) {
			if strings.Contains(line, name) {
				found += line
			}
		}
		return found
	}

	for _, path := range dropIns {
		text := read(t, path)
		name := filepath.Base(path)
		unit := "ninepocket.service"
		if strings.Contains(text, "/ninepocket-daily.service.d/") {
			unit = "ninepocket-daily.service"
		}
		if out := verify(unit, name, text); out != "" {
			t.Errorf("%s with %s: %s", unit, path, out)
		}
		if !strings.Contains(text, ".service.d/"+name) {
			t.Errorf("%s does not say where it belongs", path)
		}
		checkVariables(t, path, text)
	}
	if verify("ninepocket.service", "bad.conf", "[Service]\nMemoryMaximum=1G\n") == "" {
		t.Error("a misspelt key is not found")
	}
}

// variable matches variables of the program, commented out or not.
var variable = regexp.MustCompile(`(?m)^#?(?:Environment=)?((?:NINEPOCKET|AWS)_\w+)=(.*)$`)

// checkVariables checks that all variables in a file are settings with valid values.
func checkVariables(t *testing.T, path, text string) int {
	t.Helper()
	var environ []string
	for _, match := range variable.FindAllStringSubmatch(text, -1) {
		environ = append(environ, match[1]+"="+match[2])
	}
	read, err := conf.Read("", slices.DeleteFunc(environ, func(entry string) bool {
		return strings.HasPrefix(entry, "AWS_")
	}), func(name string) { t.Errorf("%s: %s is no setting", path, name) })
	if err == nil {
		err = read.Validate()
	}
	if err != nil {
		t.Errorf("%s: %v", path, err)
	}
	return len(environ)
}

// TestSecretsFile checks that the sample sets nothing, and that each line is valid without its #.
func TestSecretsFile(t *testing.T) {
	const path = "systemd/secrets.env"
	text := read(t, path)
	for line := range strings.Lines(text) {
		if line != "\n" && line[0] != '#' {
			t.Errorf("%s sets %s", path, line)
		}
	}
	if n := checkVariables(t, path, text); n < 4 {
		t.Errorf("%s has %d variables", path, n)
	}
}

// TestAlertsAreExplained holds the rules, their tests and the headings of the runbook against each other. The
// runbook_url of a rule leads to the anchor of its heading, and each heading has a first command.
func TestAlertsAreExplained(t *testing.T) {
	names := func(pattern string, paths ...string) map[string]bool {
		t.Helper()
		found := map[string]bool{}
		for _, path := range paths {
			for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(read(t, path), -1) {
				found[match[1]] = true
			}
		}
		if len(found) < 30 {
			t.Fatalf("%q has %d alerts", paths, len(found))
		}
		return found
	}

	rules := names(`(?m)^  - alert: (\w+)$`, "prometheus/alerts.yml")
	for what, others := range map[string]map[string]bool{
		"docs/RUNBOOK.md": names(`(?m)^### (Ninepocket\w+)$`, "../docs/RUNBOOK.md"),
		"alerts_test.yml": names(`alertname: (\w+)`, "prometheus/alerts_test.yml", "prometheus/alerts_days_test.yml"),
	} {
		for name := range rules {
			if !others[name] {
				t.Errorf("%s lacks %s", what, name)
			}
		}
		for name := range others {
			if !rules[name] {
				t.Errorf("%s has %s, which is no rule", what, name)
			}
		}
	}

	text := read(t, "prometheus/alerts.yml")
	runbook := read(t, "../docs/RUNBOOK.md")
	for name := range rules {
		link := "      runbook_url: 'file:///usr/local/share/doc/ninepocket/RUNBOOK.md#" + strings.ToLower(name) + "'\n"
		_, rule, _ := strings.Cut(text, "- alert: "+name+"\n")
		rule, _, _ = strings.Cut(rule, "- alert: ")
		if !strings.Contains(rule, link) {
			t.Errorf("the rule %s has no%s", name, link)
		}
		_, entry, _ := strings.Cut(runbook, "\n### "+name+"\n")
		entry, _, _ = strings.Cut(entry, "\n#")
		if !regexp.MustCompile("(?s)^- .*\n- \\*\\*First\\*\\* `[^`]+`.*\\*\\*Next\\*\\*\\s").MatchString(entry) {
			t.Errorf("the runbook has no users, first and next of %s: %s", name, entry)
		}
	}
}

// dashboard has the members of a dashboard that Grafana needs.
type dashboard struct {
	UID           string `json:"uid"`
	Title         string `json:"title"`
	SchemaVersion int    `json:"schemaVersion"`
	Templating    struct {
		List []struct {
			Name string `json:"name"`
			Type string `json:"type"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID         int    `json:"id"`
		Type       string `json:"type"`
		Title      string `json:"title"`
		Collapsed  *bool  `json:"collapsed"`
		Panels     []any  `json:"panels"`
		Datasource struct{ Type, UID string }
		GridPos    struct{ H, W, X, Y int }
		Targets    []struct {
			RefID        string `json:"refId"`
			Expr         string `json:"expr"`
			LegendFormat string `json:"legendFormat"`
			Datasource   struct{ Type, UID string }
		}
		FieldConfig *struct {
			Defaults struct {
				Unit       string
				Thresholds *struct {
					Mode  string
					Steps []struct {
						Color string
						Value *float64
					}
				}
			}
			Overrides []any
		}
		Options map[string]any `json:"options"`
	} `json:"panels"`
}

// TestDashboard checks the members that Grafana needs to load the dashboard and to show each panel.
func TestDashboard(t *testing.T) {
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, "grafana/ninepocket.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.UID == "" || len(d.UID) > 40 || d.SchemaVersion < 36 {
		t.Errorf("title %q, uid %q, schema %d", d.Title, d.UID, d.SchemaVersion)
	}
	variables := []string{"__rate_interval", "__value"}
	for _, list := range d.Templating.List {
		variables = append(variables, list.Name)
	}

	ids := map[int]bool{}
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		where := fmt.Sprintf("panel %d, %q", p.ID, p.Title)
		types := []string{"row", "stat", "timeseries", "table"}
		if p.ID < 1 || ids[p.ID] || p.Title == "" || !slices.Contains(types, p.Type) {
			t.Errorf("%s: its id is taken, or it has no title, or is of a type %q", where, p.Type)
		}
		ids[p.ID] = true

		// There are 24 columns; Grafana moves panels that overlap.
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s: %+v is outside", where, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", where, other)
				}
				taken[[2]int{x, y}] = where
			}
		}
		if p.Type == "row" {
			if p.Collapsed == nil || p.Panels == nil || g.W != 24 || g.H != 1 || len(p.Targets) > 0 {
				t.Errorf("%s is no row", where)
			}
			continue
		}

		if len(p.Targets) == 0 || p.Datasource.UID != "${datasource}" || p.FieldConfig == nil || p.Options == nil ||
			p.FieldConfig.Overrides == nil {
			t.Errorf("%s lacks what a panel has", where)
			continue
		}
		refs := map[string]bool{}
		for _, target := range p.Targets {
			if refs[target.RefID] || target.Expr == "" || target.Datasource != p.Datasource ||
				target.Datasource.Type != "prometheus" {
				t.Errorf("%s: target %+v", where, target)
			}
			refs[target.RefID] = true
			for _, match := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
				if !slices.Contains(variables, match[1]) {
					t.Errorf("%s asks for $%s", where, match[1])
				}
			}
			// A legend names labels that the query leaves.
			for _, match := range regexp.MustCompile(`\{\{(\w+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				by := regexp.MustCompile(`\bby \(([^)]*)\)`).FindStringSubmatch(target.Expr)
				if by != nil && !slices.Contains(strings.Split(by[1], ", "), match[1]) {
					t.Errorf("%s shows %s, which %s leaves out", where, match[1], target.Expr)
				}
			}
		}
		if limits := p.FieldConfig.Defaults.Thresholds; limits != nil {
			for i, step := range limits.Steps {
				if step.Color == "" || (step.Value == nil) != (i == 0) {
					t.Errorf("%s: step %d is %+v", where, i, step)
				}
			}
		}
	}
	if !strings.Contains(read(t, "grafana/ninepocket.json"), "by (tenant)") {
		t.Error("no panel shows tenants")
	}
}
