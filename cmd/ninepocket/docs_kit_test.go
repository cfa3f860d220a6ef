package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/node"
)

// excuse is the reason why a block of commands cannot be run here, with its page and a text of that
// block alone.
type excuse struct{ page, says, why string }

// released is the reason of blocks that begin with files of a release.
const released = "needs a release; make release-check pastes it"

// excused are the blocks that no test pastes.
var excused = []excuse{
	{"docs/CLIENTS.md", "sha256sum -c", "takes a key; tools/duckdb does the same"},
	{"docs/NATIVE.md", "mirror/source.toml", "TestMirrorOfTheGuide runs it"},
	{"README.md", "claude mcp add", "needs the client of another maker"},
	{"docs/MCP.md", "claude mcp add", "needs the client of another maker"},
	{"docs/INSTALL.md", "sudo make install", "compiles, and needs root; TestInstalledPages installs the pages"},
	{"docs/INSTALL.md", "enable --now ninepocket.service", "needs systemd as init; TestHandover does what it does"},
	{"docs/INSTALL.md", "systemctl edit", "needs systemd as init; TestHandover does what it does"},
	{"docs/INSTALL.md", "docker compose", "needs a container daemon and a network of images"},
	{"docs/BACKUP.md", "ninepocket-backup.timer", "needs systemd as init; TestUnits reads the units"},
	{"docs/BACKUP.md", "fleet revive", "needs a key that was revoked; TestFleetRestored revives one"},
	{"docs/BACKUP.md", "psql -1", "needs a copy; TestFleetRestored restores one"},
	{"docs/SECURITY-MODEL.md", "secrets.env", "needs systemd as init; TestDropIns reads the files"},
	{"docs/FLEET.md", "make fleet-demo", "goes on until it is interrupted; make torture-fleet runs the same processes"},
	{"docs/FLEET.md", "psql -d cards", "needs a superuser of PostgreSQL; TestRoles runs the file"},
	{"docs/FLEET.md", "users.acl", "needs engines of a fleet; TestRedisOfThePage compares the file"},
	{"docs/FLEET.md", "versitygw", "needs an S3 store; make torture-fleet runs one"},
	{"docs/FLEET.md", "STORE=", "needs engines of a fleet; TestOneMachineToThree goes the way"},
	{"docs/FLEET.md", "8081/readyz", "the same"},
	{"docs/FLEET.md", "usage --totals", "the same"},
	{"docs/FLEET.md", "are in the database", "the same; TestPlansThatDiffer runs both"},
	{"docs/FLEET-STORE.md", "snapshot publish latest", "needs an S3 bucket and its credentials"},
	{"docs/FLEET-STORE.md", "snapshot rollback", "needs an S3 bucket and its credentials"},
	{"docs/FLEET-STORE.md", "trust add", "needs an S3 bucket and its credentials"},
	{"docs/dev/BENCHMARKS.md", "onepiece-daily", "needs the real catalogs and minutes of a quiet machine"},
	{"docs/dev/BENCHMARKS.md", "--store b", "needs the real catalogs and minutes of a quiet machine"},
	{"docs/dev/BENCHMARKS.md", "go tool pprof", "measures for a minute, on a quiet machine"},
	{"README.md", "tar -xzf ninepocket-", released},
	{"docs/INSTALL.md", "ssh-keygen -Y verify", released},
	{"docs/INSTALL.md", "dpkg -i", released},
	{"docs/BACKUP.md", "systemctl restart ninepocket.service", released},
	{"docs/BACKUP.md", "ninepocket.toml\ndpkg -i", released},
	{"docs/BACKUP.md", "ninepocket_OLDER", released},
	{"docs/BACKUP.md", "ninepocket-OLDER", released},
	{"docs/BACKUP.md", "rm -rf /usr/local", released},
	{"docs/dev/FUZZING.md", "make fuzz", "fuzzes for minutes; the gate runs the seeds"},
	{"CONTRIBUTING.md", "make quick", "targets of minutes, of whose parts the gate has steps"},
}

// shownBlock is a block of commands of a page.
type shownBlock struct {
	page, text string
	pasted     bool
}

// docsKit is where a reader pastes commands: a folder with a shell, a fake feed behind its
// environment.
type docsKit struct {
	*feedStore
	folder string
	env    []string
	blocks []*shownBlock // of all pages
	lacks  []excuse      // more of them: of programs that are not installed
}

func newDocsKit(t *testing.T) *docsKit {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: the pages word for word, because there is no bash")
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("skipped: the pages word for word, because there is no curl")
	}
	plain, err := plainFolder()
	if err != nil {
		t.Fatal(err)
	}

	h := newFeedStore(t, 12, 6)
	d := &docsKit{feedStore: h, folder: t.TempDir(), env: append(os.Environ(),
		"PATH="+plain+":"+os.Getenv("PATH"), "NINEPOCKET_FEED__URL="+h.url, "NINEPOCKET_FEED__INTERVAL=0s",
		"NINEPOCKET_LISTEN=127.0.0.1:0", "NINEPOCKET_ADMIN=127.0.0.1:0")}
	for _, page := range commandPages(t) {
		for _, text := range shBlocks(t, page) {
			d.blocks = append(d.blocks, &shownBlock{page: page, text: text})
		}
	}
	return d
}

// block is the one block of the page that says something; it is to be pasted.
func (d *docsKit) block(page, says string) string {
	d.t.Helper()
	found := d.find(page, says)
	if found == nil {
		d.t.Fatalf("%s has not one block that says %q", page, says)
	}
	found.pasted = true
	return found.text
}

// find returns nil unless one block of the page alone says it.
func (d *docsKit) find(page, says string) (found *shownBlock) {
	for _, b := range d.blocks {
		if b.page != page || !strings.Contains(b.text, says) {
			continue
		}
		if found != nil {
			return nil
		}
		found = b
	}
	return found
}

// wantsAll wants each block pasted or excused, and each excuse to be needed.
func (d *docsKit) wantsAll() {
	d.t.Helper()
	excuses := map[*shownBlock]bool{}
	for _, row := range slices.Concat(excused, d.lacks) {
		b := d.find(row.page, row.says)
		if b == nil || b.pasted || excuses[b] {
			d.t.Errorf("excused says that %s shows %q, which is not so, or was pasted", row.page, row.says)
			continue
		}
		excuses[b] = true
	}

	pasted := 0
	for _, b := range d.blocks {
		if b.pasted {
			pasted++
		} else if !excuses[b] {
			d.t.Errorf("%s shows commands that no test pastes and nothing excuses:\n%s", b.page, b.text)
		}
	}
	d.t.Logf("%d blocks pasted, %d excused", pasted, len(excuses))
}

// pastes runs commands as they stand, but for what differs from one machine to the next. The result
// of make build is there already.
func (d *docsKit) pastes(block string, swaps ...string) string {
	d.t.Helper()
	block = strings.NewReplacer(append(swaps, "make build\n", "", `export PATH="$PWD/bin:$PATH"`+"\n", "")...).
		Replace(block)

	shell := exec.CommandContext(d.t.Context(), "bash", "-e", "-c", block)
	shell.Dir = d.folder
	shell.Env = d.env
	// A server in the background would hold pipes open, and a file it may keep.
	log, err := os.Create(filepath.Join(d.t.TempDir(), "log"))
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()

	shell.Stdout = log
	shell.Stderr = log
	err = shell.Run()
	said, _ := os.ReadFile(log.Name())
	if err != nil {
		d.t.Fatalf("%v\n%s\n%s", err, block, said)
	}
	return string(said)
}

// starts pastes commands of which the line that begins with the words runs a server. The test goes on with
// it in the background, and stop ends it, at the latest with the test.
func (d *docsKit) starts(block, words string, swaps ...string) (serving node.ReadyFile, stop func()) {
	d.t.Helper()
	folder := d.t.TempDir()
	ready := filepath.Join(folder, "ready.json")
	line := regexp.MustCompile(`(?m)^` + words + `[^#&\n]*`).FindString(block)
	if line == "" {
		d.t.Fatalf("no line begins with %q:\n%s", words, block)
	}
	flags := " --ready-file " + ready
	if _, named, found := strings.Cut(line, "--ready-file "); found {
		flags = ""
		ready = filepath.Join(d.folder, strings.TrimSpace(named))
	}
	log := filepath.Join(folder, "log")
	pid := filepath.Join(folder, "pid")
	ended := filepath.Join(folder, "ended")
	launched := "(" + line + flags + " & echo $! >" + pid + "; wait $! && code=0 || code=$?; echo $code >" + ended +
		") >" + log + " 2>&1 & #"
	d.pastes(strings.Replace(block, line, launched, 1), swaps...)

	stop = sync.OnceFunc(func() { d.stops(pid, ended, log) })
	d.t.Cleanup(stop)
	return d.ready(ready, log), stop
}

// stops ends a server by SIGTERM, after which it must end well.
func (d *docsKit) stops(pid, ended, log string) {
	d.t.Helper()
	if err := exec.Command("bash", "-c", "kill $(cat "+pid+")").Run(); err != nil {
		d.t.Errorf("cannot end the server: %v", err)
	}

	for range 1200 {
		if code, err := os.ReadFile(ended); err == nil && len(code) > 0 {
			if string(code) != "0\n" {
				said, _ := os.ReadFile(log)
				d.t.Errorf("the server ended with exit code %s%s", code, said)
			}
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	d.t.Error("the server did not end within a minute")
	_ = exec.Command("bash", "-c", "kill -9 $(cat "+pid+")").Run()
}

// ready waits for the ready file of a server.
func (d *docsKit) ready(name, log string) (ready node.ReadyFile) {
	d.t.Helper()
	for range 600 {
		if b, err := os.ReadFile(name); err == nil && json.Unmarshal(bytes.TrimSpace(b), &ready) == nil {
			return ready
		}
		time.Sleep(100 * time.Millisecond)
	}
	said, _ := os.ReadFile(log)
	d.t.Fatalf("the server was not ready within a minute\n%s", said)
	return ready
}
