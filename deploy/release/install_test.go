package release_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// previous is the commit whose store and state must survive an upgrade: the last one before the first release.
const previous = "60ec478"

// machine is a folder that looks like a machine: the pages' absolute paths lead into it, and a stand-in for systemctl
// runs the unit's command with the API's socket, as systemd does with ninepocket.socket.
type machine struct {
	t      *testing.T
	root   string
	socket *os.File
	api    string
	env    []string
}

// systemctl stands in for the system's: it runs the unit's program with the socket as file 3, and a restart drains it
// first, as systemd does with ninepocket.socket.
const systemctl = `if [ "$1" = --version ]; then echo 'systemd 252 (252)'; exit; fi
case " $* " in *" ninepocket.service "*) unit=yes;; esac
[ -n "${unit:-}" ] || exit 0
running() { [ -s "$ROOT/run/pid" ] && kill -0 "$(cat "$ROOT/run/pid")" 2>/dev/null; }
ends() { running || return 0; kill -TERM "$(cat "$ROOT/run/pid")"; 
  for _ in $(seq 3000); do running || return 0; sleep 0.02; done; echo "it does not end" >&2; exit 1; }
begins() { rm -f "$ROOT/run/ready.json" "$ROOT/run/pid"
  unit=$(find "$ROOT/usr" -name ninepocket.service | head -1)
  program=$(sed -n 's/^ExecStart=\(\S*\) .*/\1/p' "${unit:-/dev/null}")
  [ -n "$program" ] || program=/usr/local/bin/ninepocket
  (echo $BASHPID >"$ROOT/run/pid"
    LISTEN_PID=$BASHPID LISTEN_FDS=1 LISTEN_FDNAMES=api exec "$ROOT$program" serve \
    --config "$ROOT/etc/ninepocket/ninepocket.toml" --admin 127.0.0.1:0 --ready-file "$ROOT/run/ready.json" \
    >>"$ROOT/run/log" 2>&1) &
  while [ ! -s "$ROOT/run/ready.json" ]; do [ ! -s "$ROOT/run/pid" ] || running || exit 1; sleep 0.02; done; }
case $1 in
start | enable) running || begins;;
stop | disable) ends;;
restart) ends; begins;;
try-restart) if running; then ends; begins; fi;;
esac`

// dpkg stands in for the system's: it acts on the machine's folder.
const dpkg = `exec /usr/bin/dpkg --root="$ROOT" --log="$ROOT/run/dpkg.log" --force-depends --force-unsafe-io \
  --force-script-chrootless --force-not-root "$@"`

// newMachine makes a machine. The programs of the pages that act on a whole system have stand-ins that act on its
// folder.
func newMachine(t *testing.T) *machine {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp, _ := listener.(*net.TCPListener)
	socket, err := tcp.File()
	if err != nil {
		t.Fatal(err)
	}
	_ = listener.Close() // the file holds the socket
	t.Cleanup(func() { _ = socket.Close() })

	m := &machine{t: t, root: t.TempDir(), socket: socket, api: "http://" + listener.Addr().String()}
	feedURL, _ := feed(t)
	m.env = []string{
		"ROOT=" + m.root, "NINEPOCKET_FEED__URL=" + feedURL, "NINEPOCKET_FEED__INTERVAL=0s", "EDITOR=true",
		"PATH=" + m.root + "/stand-in:" + m.root + "/usr/local/bin:" + m.root + "/usr/bin:" + os.Getenv("PATH"),
	}
	for _, folder := range []string{
		"stand-in", "usr/local/bin", "usr/bin", "etc/ninepocket", "run/systemd/system", "var/lib/dpkg/info",
		"var/lib/dpkg/updates", "backup", "tmp",
	} {
		if err := os.MkdirAll(filepath.Join(m.root, folder), 0o755); err != nil { // as a system's are
			t.Fatal(err)
		}
	}
	for name, script := range map[string]string{
		"systemctl": systemctl, "dpkg": dpkg,
		"systemd-sysusers": `case "$*" in *--root*) exec /usr/bin/systemd-sysusers "$@";; esac`,
		"runuser":          `while [ "$1" != -- ]; do shift; done; shift; exec "$@"`,
	} {
		text := "#!/bin/bash\nset -e\n" + script + "\n"
		if err := os.WriteFile(filepath.Join(m.root, "stand-in", name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write("var/lib/dpkg/status", "")
	t.Cleanup(func() { m.pastes("systemctl stop ninepocket.service") })
	return m
}

// write writes a file of the machine.
func (m *machine) write(name, text string) {
	m.t.Helper()
	if err := os.WriteFile(filepath.Join(m.root, name), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// pastes runs a block in the folder of downloads, with absolute paths leading into the machine. Owners are those of
// this process. `status` may end with a finding.
func (m *machine) pastes(block string) string {
	m.t.Helper()
	block = regexp.MustCompile(`(^|[\s=])(/usr/local|/var/lib/ninepocket|/etc/ninepocket|/backup)`).
		ReplaceAllString(block, "${1}"+m.root+"${2}")
	block = strings.ReplaceAll(block, " -o ninepocket -g ninepocket", "")
	block = regexp.MustCompile(`(?m)^(ninepocket status .*)$`).ReplaceAllString(block, "$1 || true")

	cmd := exec.CommandContext(m.t.Context(), "bash", "-e", "-c", block)
	if m.t.Context().Err() != nil { // at the end of the test
		cmd = exec.Command("bash", "-e", "-c", block)
	}
	cmd.Dir = filepath.Join(m.root, "tmp")
	cmd.Env = append(os.Environ(), m.env...)
	cmd.ExtraFiles = []*os.File{m.socket}
	said, err := os.Create(filepath.Join(m.root, "run", "said")) // a server in the background holds a pipe open
	if err != nil {
		m.t.Fatal(err)
	}
	defer said.Close()
	cmd.Stdout = said
	cmd.Stderr = said
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = cmd.Run()
	text, _ := os.ReadFile(said.Name())
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(m.root, "run/log"))
		m.t.Fatalf("%s: %v\n%s\n%s", block, err, text, log)
	}
	return string(text)
}

// downloads copies files of a release to where blocks are pasted.
func (m *machine) downloads(dist string) {
	m.t.Helper()
	run(m.t, ".", nil, "cp", "-r", dist+"/.", filepath.Join(m.root, "tmp"))
}

// configures writes the configuration of a machine that was installed from an archive, and makes its first snapshot and
// key with the installed program.
func (m *machine) configures() (key string) {
	m.t.Helper()
	lib := m.root + "/var/lib/ninepocket/"
	m.write("etc/ninepocket/ninepocket.toml", fmt.Sprintf("store = %q\nstate = %q\n[feed]\ninto = %q\n"+
		"user_agent = 'a test'\n", lib+"store", lib+"state", lib+"feed"))
	m.pastes("mkdir -p /var/lib/ninepocket\nninepocket daily --config /etc/ninepocket/ninepocket.toml")
	return m.key("first")
}

// key makes a tenant's key on a large plan.
func (m *machine) key(tenant string) string {
	m.t.Helper()
	said := m.pastes("ninepocket keys create --config /etc/ninepocket/ninepocket.toml " +
		"--state /var/lib/ninepocket/state --surface live --plan unlimited --tenant " + tenant)
	return regexp.MustCompile(`npk_live_\w+`).FindString(said)
}

// served is the version of the program that serves.
func (m *machine) served() string {
	m.t.Helper()
	_, body := get(m.t, m.api+"/openapi.json", "")
	return regexp.MustCompile(`"version":"([^"]*)"`).FindStringSubmatch(body)[1]
}

// charged is what the bills say of all tenants.
func (m *machine) charged() (n int64) {
	m.t.Helper()
	said := m.pastes("ninepocket usage --state /var/lib/ninepocket/state --totals --json")
	var report struct{ Totals []struct{ Charged int64 } }
	if err := json.Unmarshal([]byte(said), &report); err != nil {
		m.t.Fatalf("%v: %s", err, said)
	}
	for _, row := range report.Totals {
		n += row.Charged
	}
	return n
}

// underLoad does something while clients ask, each on connections of its own. None may fail, and each answer must be
// charged once.
func (m *machine) underLoad(key string, do func()) {
	m.t.Helper()
	// A server takes a new key within seconds, and a refusal is not charged.
	m.until(func() bool { status, _ := get(m.t, m.api+"/v1/games", key); return status == http.StatusOK })
	before := m.charged()
	var answered atomic.Int64
	var over atomic.Bool
	var clients sync.WaitGroup
	for i := range 4 {
		clients.Go(func() {
			client := http.Client{Transport: &http.Transport{DisableKeepAlives: i%2 == 0}, Timeout: time.Minute}
			for !over.Load() {
				//nolint:noctx // the client has a timeout
				req, err := http.NewRequest(http.MethodGet, m.api+"/v1/games", http.NoBody)
				if err != nil {
					m.t.Error(err)
					return
				}
				req.Header.Set("X-API-Key", key)
				resp, err := client.Do(req)
				if err != nil || resp.StatusCode != http.StatusOK {
					m.t.Errorf("a client was refused: %v %v", resp, err)
					return
				}
				_ = resp.Body.Close()
				answered.Add(1)
				time.Sleep(2 * time.Millisecond) // the pace of a client
			}
		})
	}

	for answered.Load() < 20 && !m.t.Failed() {
		time.Sleep(time.Millisecond) // they have begun
	}
	do()
	enough := answered.Load() + 20
	for answered.Load() < enough && !m.t.Failed() {
		time.Sleep(time.Millisecond) // they go on
	}
	over.Store(true)
	clients.Wait()
	if got := m.charged() - before; got != answered.Load() {
		m.t.Errorf("%d calls were answered, and %d charged", answered.Load(), got)
	}
	m.t.Logf("%d calls meanwhile", answered.Load())
}

// until waits for something that another process does.
func (m *machine) until(done func() bool) {
	m.t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			m.t.Fatal("a server did not follow within a minute")
		}
	}
}

// old is the program of the previous version, built from the repository's history.
var old = sync.OnceValues(func() (string, error) {
	if made := os.Getenv("NINEPOCKET_OLD"); made != "" {
		return made, nil
	}
	folder, err := os.MkdirTemp("", "np-old") // tests share it
	if err != nil {
		return "", err
	}
	out, err := exec.Command("bash", "-e", "-c", "git -C "+top+" archive "+previous+" | tar -x -C "+folder+
		"; cd "+folder+"; CGO_ENABLED=0 go build -trimpath -buildvcs=false -o np-old ./cmd/ninepocket").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(folder, "np-old"), err
})

// oldProgram returns the program of the previous version, or skips where the history does not reach it.
func oldProgram(t *testing.T) string {
	t.Helper()
	if os.Getenv("NINEPOCKET_OLD") == "" &&
		exec.Command("git", "-C", top, "cat-file", "-e", previous+"^{commit}").Run() != nil {
		t.Skipf("skipped: %s, because this clone does not have %s", t.Name(), previous)
	}
	program, err := old()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// archives packs the previous version's program as a release has it, under the name that pages use for an older one.
func (m *machine) archives(program string) {
	m.t.Helper()
	name := strings.Replace(native(), newest(), "OLDER", 1)
	run(m.t, filepath.Join(m.root, "tmp"), nil, "bash", "-e", "-c", "mkdir -p "+name+"/bin; cp "+program+" "+name+
		"/bin/ninepocket; tar -czf "+name+".tar.gz "+name+"; rm -r "+name)
}

// TestInstallArchive installs the archive by the page, on a machine with nothing.
func TestInstallArchive(t *testing.T) {
	dist := release(t, "whole")
	m := newMachine(t)
	m.downloads(dist)
	said := m.pastes(blockOf(t, "ssh-keygen -Y verify", "tar -xzf"))
	if !strings.Contains(said, "ninepocket "+newest()+" of ") || !strings.Contains(said, "Good ") {
		t.Errorf("the block says %s", said)
	}
	key := m.configures()
	m.pastes("systemctl enable --now ninepocket.socket ninepocket.service")
	if status, _ := get(t, m.api+"/v1/games", key); status != http.StatusOK || m.served() != newest() {
		t.Errorf("%d from version %s", status, m.served())
	}
}

// TestUpgradeArchive upgrades by the page, under load, and goes back: from the previous version with its state and
// store, and from this version to itself.
func TestUpgradeArchive(t *testing.T) {
	dist := release(t, "whole")
	for _, from := range []string{previous, newest()} {
		t.Run(from, func(t *testing.T) {
			m := newMachine(t)
			m.downloads(dist)
			if from == previous {
				m.archives(oldProgram(t))
			} else {
				run(t, filepath.Join(m.root, "tmp"), nil, "cp", native()+".tar.gz",
					strings.Replace(native(), newest(), "OLDER", 1)+".tar.gz")
			}
			older := "tar -xzf " + strings.Replace(native(), newest(), "OLDER", 1) +
				".tar.gz -C /usr/local --strip-components=1\n"
			m.pastes(older)
			key := m.configures()
			m.pastes("systemctl start ninepocket.service")

			m.underLoad(key, func() {
				m.pastes(blockOf(t, "tar -xzf", "systemctl restart ninepocket.service"))
				if m.served() != newest() {
					t.Errorf("after the upgrade version %s serves", m.served())
				}
			})
			another := m.key("second") // of the newer version
			m.underLoad(another, func() {
				m.pastes(blockOf(t, "ninepocket-OLDER"))
				if from == previous && m.served() == newest() {
					t.Errorf("after the downgrade version %s serves", m.served())
				}
			})
			// The previous version publishes on what the newer one left, and the newer one again.
			m.pastes("ninepocket snapshot list --store /var/lib/ninepocket/store\n" +
				"ninepocket state verify --state /var/lib/ninepocket/state")
			m.underLoad(key, func() { m.pastes(blockOf(t, "tar -xzf", "systemctl restart ninepocket.service")) })
		})
	}
}

// TestInstallPackage installs the package by the page, upgrades it under load, keeps a changed configuration, and
// purges it: keys and bills stay.
func TestInstallPackage(t *testing.T) {
	dist := release(t, "whole")
	for _, name := range []string{"/usr/bin/dpkg", "/usr/bin/systemd-sysusers"} {
		if _, err := os.Stat(name); err != nil {
			t.Skipf("skipped: the package, because there is no %s", name)
		}
	}
	m := newMachine(t)
	m.downloads(dist)
	m.write("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
	m.write("etc/group", "root:x:0:\n")
	// Files of an archive that was installed first must not hide those of the package.
	m.pastes("tar -xzf " + native() + ".tar.gz -C /usr/local --strip-components=1\n" + blockOf(t, "rm -rf /usr/local"))
	block := blockOf(t, "dpkg -i", "keys create")
	first, rest, _ := strings.Cut(block, "\n")
	m.pastes(first)

	// The configuration has the machine's absolute paths, which lead elsewhere here.
	path := filepath.Join(m.root, "etc/ninepocket/ninepocket.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(`"/var/lib`, `"`+m.root+`/var/lib`, `user_agent = ""`, `user_agent = "a test"`).
		Replace(string(text))
	m.write("etc/ninepocket/ninepocket.toml", changed)
	info, err := os.Stat(filepath.Join(m.root, "var/lib/ninepocket"))
	passwd := run(t, m.root, nil, "cat", "etc/passwd")
	if err != nil || info.Mode().Perm() != 0o750 || !strings.Contains(passwd, "\nninepocket:") {
		t.Errorf("the folder of the state is %v, %v; users are %s", info, err, passwd)
	}

	key := regexp.MustCompile(`npk_live_\w+`).FindString(m.pastes(rest))
	if status, _ := get(t, m.api+"/v1/games", key); status != http.StatusOK || m.served() != newest() {
		t.Fatalf("%d from version %s", status, m.served())
	}
	unlimited := m.key("other")
	m.underLoad(unlimited, func() { m.pastes(blockOf(t, "dpkg -i", "ninepocket backup")) })
	if now := run(t, m.root, nil, "cat", path); now != changed {
		t.Errorf("an upgrade has changed the configuration to %s", now)
	}

	// An older package is installed in the same way: here this version, by the name that the page uses.
	suffix := "_" + runtime.GOARCH + ".deb"
	run(t, filepath.Join(m.root, "tmp"), nil, "cp", "ninepocket_"+newest()+suffix, "ninepocket_OLDER"+suffix)
	m.underLoad(unlimited, func() { m.pastes(blockOf(t, "ninepocket_OLDER")) })

	if said := m.pastes("dpkg --purge ninepocket"); !strings.Contains(said, "stays, with keys, usage and snapshots") {
		t.Errorf("the purge says %s", said)
	}
	for name, stays := range map[string]bool{"usr/bin/ninepocket": false, "var/lib/ninepocket/state/keys.json": true} {
		if _, err := os.Stat(filepath.Join(m.root, name)); (err == nil) != stays {
			t.Errorf("after the purge %s: %v", name, err)
		}
	}
}
