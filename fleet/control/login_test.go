package control

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/certificate/certificatetest"
	"ninepocket/internal/postgrestest"
)

// roles runs roles.sql of deploy/fleet in a database, and returns its URL for another user.
func roles(t *testing.T, server *postgrestest.Server, admin string) {
	t.Helper()
	server.File(t, admin, "../../deploy/fleet/roles.sql", "admin_password=admin-word", "servers_password=servers-word")
}

// as returns a URL with another login and more parameters.
func as(t *testing.T, text, user, password, more string) string {
	t.Helper()
	u, err := url.Parse(text)
	do(t, err)
	u.User = url.UserPassword(user, password)
	if password == "" {
		u.User = url.User(user)
	}
	if more != "" {
		u.RawQuery = more
	}
	return u.String()
}

// TestRoles serves with the role of servers, which cannot make or change keys. np_admin owns what there is.
func TestRoles(t *testing.T) {
	server := postgrestest.Start(t)
	owner := server.Database(t)
	roles(t, server, owner)
	admin := connect(t, as(t, owner, "np_admin", "admin-word", ""))
	key, _ := create(t, admin, "acme")
	roles(t, server, owner)

	db := connect(t, as(t, owner, "np_servers", "servers-word", ""))
	file, _, err := db.KeySource(time.Now).Read(t.Context())
	do(t, err)
	if len(file.Keys) != 1 {
		t.Errorf("%d keys", len(file.Keys))
	}
	_, err = db.CursorKeys(t.Context())
	do(t, err)
	source := newMemorySource()
	ex := exporter(t, db, "aaaaaaaaaaaaaaaa", source)
	row := access.LedgerRow{Tenant: "acme", Key: key.ID, Day: today, Operation: access.CardsGet}
	source.charge(row, 3, noon())
	do(t, ex.Export(t.Context()))
	do(t, db.aggregateDays(t.Context(), today))
	hooks := db.HookLedger()
	_, err = hooks.Load(t.Context())
	do(t, err)
	do(t, hooks.Save(t.Context(), []byte("{}")))
	hooks.Close()
	if _, err := db.Servers(t.Context()); err != nil {
		t.Error(err)
	}

	for name, change := range map[string]func() error{
		"keys": func() error {
			return db.UpdateKeys(t.Context(), func(f *keys.File) error { f.Keys = nil; return nil })
		},
		"the log of keys": func() error { return db.AppendKeyLog(t.Context(), []byte("{}")) },
		"a key":           func() error { return db.exec(t.Context(), time.Minute, "delete from ninepocket.keys") },
		"tables":          func() error { return db.exec(t.Context(), time.Minute, "drop table ninepocket.ledger") },
	} {
		if err := change(); !errors.Is(err, ErrPermission) {
			t.Errorf("a server may change %s: %v", name, err)
		}
	}
}

// TestRolesOfOneOwner takes over the tables of a role under its server, which goes on.
func TestRolesOfOneOwner(t *testing.T) {
	server := postgrestest.Start(t)
	super := server.Database(t)
	server.SQL(t, super, "create role one_owner login password 'owner-word'; do $$ begin execute format("+
		"'alter database %I owner to one_owner', current_database()); end $$")
	db := connect(t, as(t, super, "one_owner", "owner-word", ""))
	create(t, db, "acme")
	roles(t, server, super)
	roles(t, server, super)
	create(t, db, "later")
	create(t, connect(t, as(t, super, "np_admin", "admin-word", "")), "last")
}

// TestLoginIsReadAgain changes password and certificate of a PostgreSQL over TLS under a server: a reload takes
// them, a wrong one is refused and named.
func TestLoginIsReadAgain(t *testing.T) {
	server := postgrestest.Start(t)
	owner := server.Database(t)
	server.SQL(t, owner, "create role rotates superuser login password 'first-word'")
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	certificatetest.Write(t, file("root"), file("key"), 1)
	server.UseTLS(t, owner, file("root"), file("key"))
	password := func(word string) {
		do(t, os.WriteFile(file("pass"), []byte("*:*:*:rotates:"+word+"\n"), 0o600))
	}
	password("first-word")
	given := as(t, owner, "rotates", "", "sslmode=verify-full&sslrootcert="+file("root")+"&passfile="+file("pass"))
	db := connect(t, given)
	create(t, db, "acme")
	if on := server.SQL(t, owner, "select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) "+
		"where usename = 'rotates'"); on != "t" {
		t.Errorf("TLS: %s", on)
	}

	// The database changes, and ends what was there.
	server.SQL(t, owner, "alter role rotates password 'second-word'")
	certificatetest.Write(t, file("next"), file("key"), 2)
	server.UseTLS(t, owner, file("next"), file("key"))
	ends := func() {
		server.SQL(t, owner, "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotates'")
	}
	taken, err := db.Reload(t.Context(), given)
	if taken || err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("an unknown certificate: %t, %v", taken, err)
	}
	text, err := os.ReadFile(file("next"))
	do(t, err)
	do(t, os.WriteFile(file("root"), text, 0o600))
	taken, err = db.Reload(t.Context(), given)
	if taken || !errors.Is(err, ErrPermission) {
		t.Errorf("an old password: %t, %v", taken, err)
	}
	if _, err := db.ReadKeys(t.Context()); err != nil {
		t.Errorf("what there is goes on: %v", err)
	}

	password("second-word")
	taken, err = db.Reload(t.Context(), given)
	if !taken || err != nil {
		t.Errorf("%t, %v", taken, err)
	}
	ends()
	_, _ = db.ReadKeys(t.Context()) // whose connection was ended
	if _, err := db.ReadKeys(t.Context()); err != nil {
		t.Error(err)
	}
	if taken, err := db.Reload(t.Context(), strings.Replace(given, "127.0.0.1", "127.0.0.2", 1)); taken || err != nil {
		t.Errorf("another database: %t, %v", taken, err)
	}
}

// TestPooler lets two servers and a command work through PgBouncer, which gives each transaction any session.
func TestPooler(t *testing.T) {
	bouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		t.Skip("skipped: a pooler before PostgreSQL, because pgbouncer is not installed")
	}
	server := postgrestest.Start(t)
	direct, err := url.Parse(server.Database(t))
	do(t, err)
	pooled := *direct
	pooled.Host = startPooler(t, bouncer, direct)

	one := connect(t, pooled.String())
	two := connect(t, pooled.String())
	first := one.HookLedger()
	_, err = first.Load(t.Context())
	do(t, err)
	defer first.Close()
	key, _ := create(t, two, "acme")

	// Sessions are mixed: three transactions at a time use two of them, and the lock of hooks has a
	// session, too.
	var group sync.WaitGroup
	for i, db := range []*DB{one, two, one} {
		group.Go(func() {
			source := newMemorySource()
			row := access.LedgerRow{Tenant: "acme", Key: key.ID, Day: today, Operation: access.CardsGet}
			source.charge(row, 3, noon())
			ex := exporter(t, db, fmt.Sprintf("%016x", i), source)
			for range 10 {
				_, err := db.ReadKeys(t.Context())
				if err == nil {
					_, err = db.CursorKeys(t.Context())
				}
				if err == nil {
					err = ex.Export(t.Context())
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if _, err := two.HookLedger().Load(t.Context()); !errors.Is(err, ErrOtherSends) {
		t.Errorf("the lock of hooks: %v", err)
	}
	do(t, first.Save(t.Context(), []byte("{}")))
}

// startPooler starts PgBouncer before a database, and returns its address.
func startPooler(t *testing.T, bouncer string, database *url.URL) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "np") //nolint:usetesting // another user has to get there
	do(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	do(t, os.Chmod(dir, 0o755))
	address := freeAddress(t)
	_, port, _ := strings.Cut(address, ":")
	password, _ := database.User.Password()
	const readable = 0o644
	do(t, os.WriteFile(filepath.Join(dir, "users.txt"), fmt.Appendf(nil, "%q %q\n", "np", password), readable))
	text := fmt.Sprintf("[databases]\n* = host=127.0.0.1 port=%s\n"+
		"[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%s\nunix_socket_dir=\nauth_type=plain\n"+
		"auth_file=%s/users.txt\npool_mode=transaction\ndefault_pool_size=3\n",
		database.Port(), port, dir)
	do(t, os.WriteFile(filepath.Join(dir, "pgbouncer.ini"), []byte(text), readable))

	cmd := exec.Command(bouncer, filepath.Join(dir, "pgbouncer.ini"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: postgrestest.Owner(t)}
	stderr, err := cmd.StderrPipe()
	do(t, err)
	do(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said := make([]byte, 0, 1<<10)
	part := make([]byte, 1<<10)
	for !strings.Contains(string(said), "process up") {
		n, err := stderr.Read(part)
		said = append(said, part[:n]...)
		if err != nil {
			t.Fatalf("pgbouncer: %v: %s", err, said)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	return address
}

// freeAddress returns an address that nobody listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	do(t, err)
	defer l.Close()
	return l.Addr().String()
}
