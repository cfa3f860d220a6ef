package limiter

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/certificate/certificatetest"
	"ninepocket/internal/redistest"
)

// usersFile writes the users of deploy/fleet with passwords.
func usersFile(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../deploy/fleet/users.acl")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users.acl")
	full := strings.NewReplacer("ADMIN_PASSWORD", "admin-word", "SERVERS_PASSWORD", "first-word",
		"INTERNAL_PASSWORD", "inner-word").Replace(string(text))
	// The test itself needs no login; what nobody may do without one is tested of the file as it is.
	full = strings.Replace(full, "user default off", "user default on nopass ~* &* +@all", 1)
	write(t, file, full)
	return file
}

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reports gathers what a store reports.
type reports struct {
	sync.Mutex
	texts []string
}

func (r *reports) add(err error) {
	r.Lock()
	defer r.Unlock()
	text := "well"
	if err != nil {
		text = err.Error()
	}
	r.texts = append(r.texts, text)
}

func (r *reports) has(text string) bool {
	r.Lock()
	defer r.Unlock()
	return strings.Contains(strings.Join(r.texts, "\n"), text)
}

// TestLoginRotates changes the password and the certificate of a Redis over TLS while a server uses it, with the
// users of deploy/fleet: a reload takes them, a wrong one is refused and named, and nothing is restarted.
func TestLoginRotates(t *testing.T) {
	t.Parallel()
	redistest.Need(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	certificatetest.Write(t, file("cert"), file("key"), 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	_ = l.Close()
	r := redistest.Start(t, "--aclfile", usersFile(t), "--tls-port", port, "--tls-cert-file", file("cert"),
		"--tls-key-file", file("key"), "--tls-ca-cert-file", file("cert"))
	age(t, r, "np")
	copyFile := func(from, to string) {
		text, err := os.ReadFile(file(from))
		if err != nil {
			t.Fatal(err)
		}
		write(t, file(to), string(text))
	}
	copyFile("cert", "root")
	write(t, file("password"), "first-word\n")

	url := "rediss://np@127.0.0.1:" + port + "/0?password_file=" + file("password") + "&sslrootcert=" + file("root") +
		"&sslcert=" + file("cert") + "&sslkey=" + file("key")
	var said reports
	s := startServer(t, url, "np", func(o *Options) { o.Report = said.add })
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 600, PerDay: 10_000}, "one").principal(t, "one")
	eventually(t, "a call is granted", func() bool { return s.do(p, access.CardsGet) })

	// Somebody can do what docs/FLEET.md says, and it is not the servers.
	for user, want := range map[string]bool{"admin": true, "np": false} {
		for _, words := range []string{"ACL SETUSER np >second-word", "CONFIG SET masterauth new"} {
			got := r.Try(append([]string{"ACL", "DRYRUN", user}, strings.Fields(words)...)...)
			if (got == "OK") != want {
				t.Errorf("%s may %s: %v", user, words, got)
			}
		}
	}

	// Two passwords for a while, a new certificate, and the old password goes.
	if got := r.Try("ACL", "SETUSER", "np", ">second-word"); got != "OK" {
		t.Fatal(got)
	}
	certificatetest.Write(t, file("cert"), file("key"), 2)
	r.Try("CONFIG", "SET", "tls-cert-file", file("cert"), "tls-key-file", file("key"), "tls-ca-cert-file", file("cert"))
	write(t, file("password"), "wrong-word\n")
	copyFile("cert", "root")
	taken, err := s.Reload(t.Context(), url)
	if taken || err == nil || !strings.Contains(err.Error(), "WRONGPASS") || strings.Contains(err.Error(), "word\n") {
		t.Errorf("a wrong password: %t, %v", taken, err)
	}
	write(t, file("password"), "second-word\n")
	if taken, err := s.Reload(t.Context(), url); !taken || err != nil {
		t.Fatalf("%t, %v", taken, err)
	}
	if decision := s.admit(p, access.CardsGet); decision.Result != access.Admitted {
		t.Errorf("during the change: %+v", decision)
	}
	r.Try("ACL", "SETUSER", "np", "<first-word")
	r.Try("CLIENT", "KILL", "USER", "np")
	eventually(t, "it logs in anew", func() bool { return s.do(p, access.CardsGet) })

	// Another place needs a restart, and who forgets the reload reads the true reason.
	if taken, err := s.Reload(t.Context(), "rediss://np@127.0.0.1:1/0"); taken || err != nil {
		t.Errorf("another place: %t, %v", taken, err)
	}
	r.Try("ACL", "SETUSER", "np", "<second-word", ">third-word")
	r.Try("CLIENT", "KILL", "USER", "np")
	eventually(t, "the cause is named", func() bool { return said.has("WRONGPASS") })
	write(t, file("password"), "third-word")
	eventually(t, "the file is read again without a reload", func() bool { return s.do(p, access.CardsGet) })
}

// TestSentinelPassword follows a primary by a Sentinel that wants a password, all with the users of deploy/fleet.
func TestSentinelPassword(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t, "--aclfile", usersFile(t))
	age(t, r, "np")
	watcher := redistest.Sentinel(t, r, "cards", "requirepass sentinel-word", "sentinel auth-user cards sentinel",
		"sentinel auth-pass cards inner-word")
	url := "redis+sentinel://np:first-word@" + watcher.Address() + "/cards"
	p := newTenants(t, keys.Live, keys.Plan{PerMinute: 600, PerDay: 10_000}, "one").principal(t, "one")
	s := startServer(t, url+"?sentinel_password=sentinel-word", "np", nil)
	eventually(t, "a call is granted", func() bool { return s.do(p, access.CardsGet) })

	var said reports
	startServer(t, url, "np", func(o *Options) { o.Report = said.add })
	eventually(t, "the cause is named", func() bool { return said.has("NOAUTH") })
}

// TestParameters refuses what a URL may not have, all at once and without a password.
func TestParameters(t *testing.T) {
	for url, want := range map[string]string{
		"redis://h/0?sentinel_pasword=secret&a=b": "it has no parameter a, sentinel_pasword: want " +
			strings.Join(parameters, ", "),
		"redis://h/0?sslrootcert=/x": "sslrootcert, sslcert and sslkey want rediss://",
		"redis://h/0?password_file=/nowhere/a&sentinel_password_file=/nowhere/b": "open /nowhere/a: no such file or " +
			"directory\nopen /nowhere/b: no such file or directory",
	} {
		_, _, err := parseURL(url, time.Second)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", url, err, want)
		}
	}
}
