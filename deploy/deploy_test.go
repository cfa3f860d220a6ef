// Package deploy_test checks the files that deploy ninepocket against the program and with the
// tools that know them.
package deploy_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// tool returns the path of a program, or skips.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("skipped: %s, because there is no %s", t.Name(), name)
	}
	return path
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestImageHasWhatItIsBuiltFrom finds packages of the program that .dockerignore keeps from the
// build.
func TestImageHasWhatItIsBuiltFrom(t *testing.T) {
	ignore := strings.Fields(read(t, "../.dockerignore"))
	if !slices.Contains(ignore, "*") {
		t.Error(".dockerignore lets in what it does not name")
	}

	for path := range strings.FieldsSeq(output(t, "go", "list", "-deps", "-f",
		"{{if .Module}}{{if .Module.Main}}{{.ImportPath}}{{end}}{{end}}", "../cmd/ninepocket")) {
		folder, _, _ := strings.Cut(strings.TrimPrefix(path, "ninepocket/"), "/")
		if !slices.Contains(ignore, "!"+folder) {
			t.Errorf("%s is part of the program, but .dockerignore has no !%s", path, folder)
		}
	}

	docker := read(t, "../Dockerfile")
	for _, copied := range regexp.MustCompile(`/src/(\w+)`).FindAllStringSubmatch(docker, -1) {
		if !slices.Contains(ignore, "!"+copied[1]) {
			t.Errorf("the image copies %s, which .dockerignore keeps out", copied[1])
		}
		if _, err := os.Stat("../" + copied[1]); err != nil {
			t.Error(err)
		}
	}
}

// TestDockerfile reads the instructions: there is no engine to build it in the gate.
func TestDockerfile(t *testing.T) {
	text := read(t, "../Dockerfile")
	joined := strings.ReplaceAll(text, "\\\n", " ")

	// Of the last stage.
	var last map[string]string
	known := []string{
		"FROM", "WORKDIR", "COPY", "RUN", "ARG", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL",
		"HEALTHCHECK", "ENTRYPOINT", "CMD",
	}
	for line := range strings.Lines(joined) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, _ := strings.Cut(line, " ")
		if !slices.Contains(known, name) {
			t.Errorf("unknown instruction %q", line)
		}
		if name == "FROM" {
			last = map[string]string{}
		}
		last[name] += rest
	}

	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))[1]
	if !strings.Contains(text, "FROM golang:"+goVersion+" ") {
		t.Errorf("the image is not built with Go %s", goVersion)
	}
	if last["FROM"] != "scratch" || last["RUN"] != "" ||
		!regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(last["USER"]) {
		t.Errorf("the last stage is %v", last)
	}

	// Without a shell only the form with brackets works.
	for _, name := range []string{"ENTRYPOINT", "CMD", "VOLUME"} {
		if !strings.HasPrefix(last[name], "[") {
			t.Errorf("%s %s needs a shell", name, last[name])
		}
	}

	if !strings.Contains(last["HEALTHCHECK"], `CMD ["/ninepocket", "healthcheck"]`) {
		t.Errorf("HEALTHCHECK %s", last["HEALTHCHECK"])
	}
}

// TestUnits lets systemd read the units, with programs that exist here in the place of ours.
func TestUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	dir := t.TempDir()
	var units []string
	for _, name := range []string{
		"ninepocket.service", "ninepocket-daily.service", "ninepocket-daily.timer", "ninepocket.socket",
	} {
		text := regexp.MustCompile(`/usr/local/\S+`).ReplaceAllString(read(t, "systemd/"+name), "/bin/true")
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		units = append(units, path)
	}

	for line := range strings.Lines(output(t, analyze, append([]string{"verify", "--man=no"}, units...)...)) {
		// systemd before 253 does not know the type; before-253.conf is for it.
		if strings.Contains(line, dir) && !strings.Contains(line, "notify-reload") {
			t.Error(line)
		}
	}

	for _, service := range units[:2] {
		if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--no-pager",
			"--threshold=20", service).CombinedOutput(); err != nil {
			t.Errorf("%s is exposed by more than 2.0: %v\n%s", filepath.Base(service), err, out)
		}
	}
}

func TestShellScripts(t *testing.T) {
	output(t, tool(t, "shellcheck"), "daily.sh")
}

// ninepocketStub stands for the program: it writes down how it was called and does as the
// environment says.
const ninepocketStub = `#!/bin/sh
echo "$*" >>"$CALLS"
case "$1 $2" in
'snapshot build') [ "$BUILD" = 0 ] && printf '{\n  "id": "new",\n  "path": "x"\n}\n'; exit "$BUILD" ;;
'snapshot list') echo 'ID  SNAPSHOT AT'; echo 'other  today'
  [ -z "$CURRENT" ] || echo "$CURRENT  yesterday  current" ;;
'snapshot diff') exit "$DIFF" ;;
'snapshot publish') exit "$PUBLISH" ;;
esac
`

// TestDailyScript goes through every end of the day.
func TestDailyScript(t *testing.T) {
	bash := tool(t, "bash")
	dir := t.TempDir()
	stub := filepath.Join(dir, "ninepocket")
	calls := filepath.Join(dir, "calls")
	if err := errors.Join(os.WriteFile(stub, []byte(ninepocketStub), 0o700), os.Mkdir(filepath.Join(dir, "store"),
		0o700), os.WriteFile(filepath.Join(dir, "store", "CURRENT"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}

	store := filepath.Join(dir, "store")
	day := func(environ ...string) (code int, called, said string) {
		t.Helper()
		_ = os.Remove(calls)
		cmd := exec.CommandContext(context.Background(), bash, "daily.sh")
		cmd.Env = append([]string{
			"PATH=" + os.Getenv("PATH"), "NINEPOCKET=" + stub, "CALLS=" + calls, "STORE=" + store, "FEED=tcgcsv:feed",
			"BUILD=0", "CURRENT=old", "DIFF=0", "PUBLISH=0",
		}, environ...)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}

		// None when it was not called.
		b, _ := os.ReadFile(calls)
		return cmd.ProcessState.ExitCode(), strings.ReplaceAll(string(b), store, "STORE"), string(out)
	}

	f := func(what string, wantCode int, wantCalls []string, wantSaid string, environ ...string) {
		t.Helper()
		code, called, said := day(environ...)
		if code != wantCode || called != strings.Join(append(wantCalls, ""), "\n") ||
			!strings.Contains(said, wantSaid) {
			t.Errorf("%s: exit status %d after\n%s\n%s\nwant %d after\n%s", what, code, called, said, wantCode,
				strings.Join(wantCalls, "\n"))
		}
	}

	const (
		build   = "snapshot build --store STORE --source tcgcsv:feed --base current --json"
		list    = "snapshot list --store STORE"
		diff    = "snapshot diff old new --store STORE"
		publish = "snapshot publish new --store STORE"
	)

	f("a good day", 0, []string{build, list, diff, publish}, "published new")
	f("more flags", 0, []string{
		"snapshot build --store STORE --source tcgcsv:feed --base current --mapping m --json",
		list, diff, publish,
	}, "", "BUILD_FLAGS=--mapping m")
	f("no comparison", 0, []string{build, list, diff, publish}, "cannot compare", "DIFF=1")
	f("the same feed", 0, []string{build, list}, "nothing is new", "CURRENT=new")
	f("refused", 3, []string{build, list, diff, publish}, "old stays", "PUBLISH=3")
	f("cannot publish", 1, []string{build, list, diff, publish}, "cannot publish", "PUBLISH=1")
	f("no build", 1, []string{build}, "", "BUILD=1")
	f("a mistake in the flags", 2, []string{build}, "", "BUILD=2")
	f("no feed", 2, nil, "set FEED", "FEED=")
	f("no pull", 1, nil, "cannot pull", "PULL=/bin/false")
	f("a pull", 0, []string{build, list, diff, publish}, "feed", "PULL=/bin/echo")
	if err := os.Remove(filepath.Join(store, "CURRENT")); err != nil {
		t.Fatal(err)
	}

	f("the first day", 0, []string{strings.Replace(build, "--base current", "--base none", 1), list, publish},
		"published new", "CURRENT=")
}
