// Package deploy_test checks the files that deploy ninepocket against the program and with the
// tools that know them.
package deploy_test

import (
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

// TestImageIsOfARelease wants the image made of the archive of a release, and nothing else to reach its build.
func TestImageIsOfARelease(t *testing.T) {
	ignore := strings.Fields(regexp.MustCompile(`(?m)^#.*`).ReplaceAllString(read(t, "../.dockerignore"), ""))
	want := []string{
		"*", "!dist", "dist/*", "!dist/release", "dist/release/*", "!dist/release/ninepocket-*-linux-*.tar.gz",
	}
	if !slices.Equal(ignore, want) {
		t.Errorf(".dockerignore says %q", ignore)
	}

	docker := read(t, "../Dockerfile")
	for _, want := range []string{
		"ADD dist/release/ninepocket-${VERSION}-linux-${TARGETARCH}.tar.gz /\n",
		"COPY --from=release /release/bin/ninepocket /ninepocket\n",
	} {
		if !strings.Contains(docker, want) {
			t.Errorf("the Dockerfile lacks %q", want)
		}
	}
	if !strings.Contains(docker, "\nARG TARGETARCH\n") {
		t.Error("a default of TARGETARCH hides the platform that BuildKit names")
	}
	if strings.Contains(docker, "go build") {
		t.Error("the image compiles the program again")
	}
	// It copies the files that a release installs.
	for _, copied := range regexp.MustCompile(`/release/share/doc/ninepocket/(\w+)`).FindAllStringSubmatch(docker, -1) {
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
		"HEALTHCHECK", "ENTRYPOINT", "CMD", "ADD",
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

// TestUnits lets systemd read the units, with existing programs in place of ninepocket.
func TestUnits(t *testing.T) {
	analyze := tool(t, "systemd-analyze")
	dir := t.TempDir()
	var units []string
	for _, name := range []string{
		"ninepocket.service", "ninepocket-daily.service", "ninepocket-backup.service", "ninepocket-notify.service",
		"ninepocket-daily.timer", "ninepocket-backup.timer", "ninepocket-notify.timer", "ninepocket.socket",
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

	for _, service := range units[:4] {
		if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--no-pager",
			"--threshold=20", service).CombinedOutput(); err != nil {
			t.Errorf("%s is exposed by more than 2.0: %v\n%s", filepath.Base(service), err, out)
		}
	}
}
