package fleet

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// answerTimeout is how long a process may take to respond on a busy machine.
const answerTimeout = 90 * time.Second

// ErrAddress reports an address in use, and says how to choose another.
var ErrAddress = errors.New("choose another address: make fleet-demo DEMO_FLAGS='--listen 127.0.0.1:0'")

// Options configure a fleet.
type Options struct {
	Binary  string // of ninepocket
	Folder  string // for the data of all processes; it is created
	Listen  string // HOST:PORT of the proxy, port 0 for any
	Catalog string // a native source directory with the first day
	// OpenSentinels have no password, for programs from before 0.1.0, which could not give one.
	OpenSentinels bool
	// Way leads servers to engines, see Plan.
	Way func(server, name, address string) string
}

// Fleet is a running fleet.
type Fleet struct {
	Plan
	// Builder is the program that builds snapshots and publishes them; "" for the one of Options or Use.
	Builder   string
	options   Options
	processes map[string]*process
}

// Start starts a fleet and returns when the proxy responds. After an error no process runs.
func Start(ctx context.Context, options Options) (_ *Fleet, err error) {
	if err := Missing(); err != nil {
		return nil, err
	}
	f := &Fleet{options: options, processes: map[string]*process{}}
	defer func() {
		if err != nil {
			f.Stop()
		}
	}()

	// The user of PostgreSQL must be able to reach its folder.
	err = os.MkdirAll(options.Folder, 0o711)
	if err == nil {
		err = os.Chmod(options.Folder, 0o711)
	}
	if err == nil {
		err = f.plan()
	}
	if err == nil {
		err = f.startEngines(ctx)
	}
	if err == nil {
		err = f.publishFirst(ctx)
	}
	if err == nil {
		err = f.startServers(ctx)
	}
	return f, err
}

// plan chooses an address for each process.
func (f *Fleet) plan() error {
	f.Plan = Plan{
		Way: f.options.Way, Bind: "127.0.0.1", Places: map[string]string{}, TrustedProxies: "127.0.0.1",
		Password: rand.Text(), AdminPassword: rand.Text(), ServerPassword: rand.Text(),
		InternalPassword: rand.Text(), SentinelPassword: rand.Text(), AccessKey: rand.Text(), Secret: rand.Text(),
		Folder: func(name string) string { return filepath.Join(f.options.Folder, name) },
	}
	if f.options.OpenSentinels {
		f.SentinelPassword = ""
	}

	// All listeners stay open until the end, so that no address is chosen twice.
	names := slices.Concat(Redis, Sentinels, Servers, []string{Postgres, Store, Proxy + "/metrics"})
	for _, name := range Servers {
		names = append(names, name+"/admin")
	}
	places := map[string]string{Proxy: f.options.Listen}
	for _, name := range names {
		places[name] = "127.0.0.1:0"
	}
	for name, place := range places {
		l, err := net.Listen("tcp", place) //nolint:noctx // it returns at once
		if err != nil {
			return fmt.Errorf("cannot listen for %s: %w: %w", name, err, ErrAddress)
		}
		defer l.Close()
		f.Places[name] = l.Addr().String()
	}

	f.BaseURL = "http://" + f.Places[Proxy]
	return nil
}

// add prepares a process with its own folder.
func (f *Fleet) add(name string) error {
	line, env := f.Command(name)
	path, err := find(line[0])
	if line[0] == "ninepocket" {
		path, err = filepath.Abs(f.options.Binary)
	}
	if err != nil {
		return err
	}

	folder := f.Folder(name)
	p := &process{name: name, path: path, args: line[1:], env: env, dir: folder, log: folder + ".log"}
	if name == Postgres {
		p.owner, err = unprivilegedUser()
	}
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil && p.owner != nil {
		err = os.Chown(folder, int(p.owner.Uid), int(p.owner.Gid))
	}
	f.processes[name] = p
	return err
}

// startEngines starts Redis, PostgreSQL and the store, which servers need.
func (f *Fleet) startEngines(ctx context.Context) error {
	for _, name := range slices.Concat(Redis, Sentinels, []string{Postgres, Store}) {
		if err := f.add(name); err != nil {
			return err
		}
	}
	for i, name := range Sentinels {
		err := os.WriteFile(f.Folder(name)+"/sentinel.conf", []byte(f.Sentinel(name)), 0o600)
		if err == nil {
			err = os.WriteFile(f.Folder(Redis[i])+"/redis.conf", []byte(f.RedisConfig(Redis[i])), 0o600)
		}
		if err == nil {
			err = os.WriteFile(f.Folder(Redis[i])+"/users.acl", []byte(f.withPasswords(usersConfig)), 0o600)
		}
		if err != nil {
			return err
		}
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.startRedis(ctx) })
	group.Go(func() error { return f.startPostgres(ctx) })
	group.Go(func() error {
		err := os.MkdirAll(filepath.Join(f.Folder(Store), Bucket), 0o700)
		if err != nil {
			return err
		}
		return f.launch(ctx, Store, f.accepts(Store))
	})
	return group.Wait()
}

func (f *Fleet) startRedis(ctx context.Context) error {
	for _, name := range Redis {
		if err := f.launch(ctx, name, f.accepts(name)); err != nil {
			return err
		}
	}
	both := func() bool { return strings.Count(f.SendRedis(Redis[0], "INFO", "replication"), "state=online") == 2 }
	if err := f.await(ctx, Redis[0], "two replicas follow it", both); err != nil {
		return err
	}

	for _, name := range Sentinels {
		if err := f.launch(ctx, name, f.accepts(name)); err != nil {
			return err
		}
	}
	for _, name := range Sentinels {
		knows := func() bool { return strings.Contains(f.SendRedis(name, "INFO", "sentinel"), "slaves=2,sentinels=3") }
		if err := f.await(ctx, name, "it knows all others", knows); err != nil {
			return err
		}
	}

	// Servers wait a minute for a new Redis, because earlier grants are unknown. Here there were
	// none.
	if answer := f.SendRedis(Redis[0], "SET", "np:born", "1"); answer != "OK" {
		return fmt.Errorf("cannot write to redis: %s", answer)
	}
	return nil
}

// startPostgres creates a database cluster and the database of the fleet, and starts PostgreSQL.
func (f *Fleet) startPostgres(ctx context.Context) error {
	p := f.processes[Postgres]
	folder := f.Folder(Postgres)
	password := filepath.Join(folder, "password")
	err := os.WriteFile(password, []byte(f.Password), 0o600)
	if err == nil && p.owner != nil {
		err = os.Chown(password, int(p.owner.Uid), int(p.owner.Gid))
	}
	if err == nil {
		err = f.as(ctx, p, "initdb", "-D", filepath.Join(folder, "data"), "-U", "np", "-E", "UTF8", "--locale=C",
			"--auth=scram-sha-256", "--auth-local=trust", "--pwfile="+password)
	}
	if err != nil {
		return err
	}

	// The image of a container sets the rest itself.
	p.args = append(p.args, "-D", filepath.Join(folder, "data"), "-k", folder, "-h", f.Bind, "-p", f.port(Postgres),
		"-c", "dynamic_shared_memory_type=mmap")
	ready := func() bool {
		return f.as(ctx, p, "pg_isready", "-q", "-h", folder, "-p", f.port(Postgres)) == nil
	}
	if err := f.launch(ctx, Postgres, ready); err != nil {
		return err
	}
	err = f.as(ctx, p, "createdb", "-h", folder, "-p", f.port(Postgres), "-U", "np", "cards")
	if err != nil {
		return err
	}
	const readable = 0o644 // by PostgreSQL's user
	err = os.WriteFile(filepath.Join(f.options.Folder, "roles.sql"), []byte(rolesSQL), readable)
	if err != nil {
		return err
	}
	return f.roles(ctx)
}

// roles makes the roles of the database, and grants them the existing tables.
func (f *Fleet) roles(ctx context.Context) error {
	return f.as(ctx, f.processes[Postgres], "psql", "-X", "-q", "-h", f.Folder(Postgres), "-p", f.port(Postgres),
		"-U", "np", "-d", "cards", "-v", "admin_password="+f.Password, "-v", "servers_password="+f.ServerPassword,
		"-f", filepath.Join(f.options.Folder, "roles.sql"))
}

// as runs a program of PostgreSQL as its user.
func (f *Fleet) as(ctx context.Context, p *process, name string, args ...string) error {
	path, err := find(name)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir = p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.owner, Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, bytes.TrimSpace(out))
	}
	return nil
}

// publishFirst creates the key of the publisher, and publishes the first day.
func (f *Fleet) publishFirst(ctx context.Context) error {
	out, err := f.Ninepocket(ctx, "snapshot", "trust", "init", "demo", "--key", f.KeyFile())
	if err != nil {
		return err
	}
	f.Publisher = strings.TrimSpace(out)
	return f.Publish(ctx, f.options.Catalog, "0s")
}

// KeyFile returns the file of the key that signs releases.
func (f *Fleet) KeyFile() string { return filepath.Join(f.options.Folder, "publisher.key") }

// Publish builds a snapshot of a native source directory and pushes it, to be activated after a
// while.
func (f *Fleet) Publish(ctx context.Context, catalog, in string) error {
	store := filepath.Join(f.options.Folder, "publisher")
	build := []string{"snapshot", "build", "--store", store, "--source", "native:" + catalog}
	if _, err := os.Stat(filepath.Join(store, "CURRENT")); err == nil {
		build = append(build, "--base", "current")
	}
	builder := cmp.Or(f.Builder, f.options.Binary)
	_, err := f.run(ctx, builder, build...)
	if err != nil {
		return err
	}
	_, err = f.run(ctx, builder, "snapshot", "publish", "latest", "--store", store, "--to", f.PublishTo(), "--key",
		f.KeyFile(), "--activate-in", in)
	return err
}

// CreateKey creates a key, which all servers accept within two seconds.
func (f *Fleet) CreateKey(ctx context.Context, tenant, surface, plan string, more ...string) (string, error) {
	out, err := f.Ninepocket(ctx, append([]string{
		"keys", "create", "--control", f.Control(), "--tenant", tenant, "--surface", surface, "--plan", plan, "--json",
	}, more...)...)
	if err != nil {
		return "", err
	}

	var made struct{ Key string }
	err = json.Unmarshal([]byte(out), &made)
	return made.Key, err
}

// Ninepocket runs a command and returns its output.
func (f *Fleet) Ninepocket(ctx context.Context, args ...string) (string, error) {
	return f.run(ctx, f.options.Binary, args...)
}

// run runs a command of a program of ninepocket.
func (f *Fleet) run(ctx context.Context, program string, args ...string) (string, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return "", err
	}

	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), f.Credentials()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out, said bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ninepocket %s %s: %w: %s", args[0], args[1], err, bytes.TrimSpace(said.Bytes()))
	}
	return out.String(), nil
}

// startServers starts the servers and their proxy.
func (f *Fleet) startServers(ctx context.Context) error {
	// A server needs a key to start. The command also creates the tables of the database.
	if _, err := f.CreateKey(ctx, "demo", "live", "free"); err != nil {
		return err
	}
	if err := f.roles(ctx); err != nil {
		return err
	}
	for _, name := range append(slices.Clone(Servers), Proxy) {
		if err := f.add(name); err != nil {
			return err
		}
	}
	err := os.WriteFile(f.Folder(Proxy)+"/haproxy.cfg", []byte(haproxyConfig), 0o600)
	if err != nil {
		return err
	}

	group, each := errgroup.WithContext(ctx)
	for _, name := range Servers {
		group.Go(func() error { return f.launch(each, name, f.Ready(name)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}

	// Another program may have bound the address since it was free.
	if f.accepts(Proxy)() {
		return fmt.Errorf("cannot listen for %s at %s: another program does by now: %w", Proxy, f.Places[Proxy],
			ErrAddress)
	}
	return f.launch(ctx, Proxy, func() bool { return status("http://"+f.Places[Proxy]+"/robots.txt") == http.StatusOK })
}

// Ready returns a function that reports whether a server is ready.
func (f *Fleet) Ready(name string) func() bool {
	return func() bool { return status("http://"+f.Places[name+"/admin"]+"/readyz") == http.StatusOK }
}

func status(url string) int {
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(url) //nolint:noctx // the client has a timeout
	if err != nil {
		return 0
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

// accepts returns a function that reports whether a process accepts connections.
func (f *Fleet) accepts(name string) func() bool {
	return func() bool {
		conn, err := net.DialTimeout("tcp", f.Places[name], time.Second)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	}
}

// launch starts a process and waits until it is ready.
func (f *Fleet) launch(ctx context.Context, name string, ready func() bool) error {
	if err := f.processes[name].start(); err != nil {
		return err
	}
	return f.await(ctx, name, "it is ready", ready)
}

// await waits for a state of a process.
func (f *Fleet) await(ctx context.Context, name, what string, ok func() bool) error {
	p := f.processes[name]
	deadline := time.Now().Add(answerTimeout)
	for !ok() {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !p.running():
			return fmt.Errorf("%s ended at once: %s", name, p.said())
		case time.Now().After(deadline):
			return fmt.Errorf("%s: not within %s that %s: %s", name, answerTimeout, what, p.said())
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

// SendRedis sends a command to a Redis or a Sentinel and returns its response, "" if it could not
// be sent.
func (f *Fleet) SendRedis(name string, words ...string) string {
	conn, err := net.DialTimeout("tcp", f.Places[name], time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))

	login := []string{"AUTH", "np", f.ServerPassword}
	if slices.Contains(Sentinels, name) {
		login = []string{"AUTH", f.SentinelPassword}
	}
	answers := bufio.NewReader(conn)
	if login[len(login)-1] != "" {
		sendRedis(conn, login)
		if line, _ := answers.ReadString('\n'); line != "+OK\r\n" {
			return strings.TrimSpace(line)
		}
	}

	sendRedis(conn, words)
	answer := make([]byte, 64<<10)
	n, _ := answers.Read(answer)
	text := string(answer[:n])
	if strings.HasPrefix(text, "$") {
		_, text, _ = strings.Cut(text, "\r\n")
	}
	return strings.TrimRight(strings.TrimLeft(text, "+:-"), "\r\n")
}

// sendRedis sends a command.
func sendRedis(conn io.Writer, words []string) {
	fmt.Fprintf(conn, "*%d\r\n", len(words))
	for _, word := range words {
		fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(word), word)
	}
}

// Names returns the processes in the order of their start.
func (f *Fleet) Names() []string {
	return slices.Concat(Redis, Sentinels, []string{Postgres, Store}, Servers, []string{Proxy})
}

// Stop ends all processes, dependent ones first.
func (f *Fleet) Stop() {
	var group errgroup.Group
	end := func(names ...string) {
		for _, name := range names {
			if p := f.processes[name]; p != nil {
				group.Go(func() error { p.stop(); return nil })
			}
		}
		_ = group.Wait()
	}
	end(Proxy)
	end(Servers...)
	end(Sentinels...)
	end(append(slices.Clone(Redis), Postgres, Store)...)
}

// Kill ends a process as kill -9 does.
func (f *Fleet) Kill(name string) { f.processes[name].kill() }

// Pause stops a process until Resume.
func (f *Fleet) Pause(name string) { f.processes[name].signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (f *Fleet) Resume(name string) { f.processes[name].signal(syscall.SIGCONT) }

// Running reports whether a process runs.
func (f *Fleet) Running(name string) bool { return f.processes[name].running() }

// Restart starts an ended process again, with its data.
func (f *Fleet) Restart(ctx context.Context, name string) error {
	ready := f.accepts(name)
	if slices.Contains(Servers, name) {
		ready = f.Ready(name)
	}

	// A broken connection may use the address for a moment.
	deadline := time.Now().Add(answerTimeout)
	for {
		err := f.launch(ctx, name, ready)
		if err == nil || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(time.Second)
	}
}

// Use takes another program of ninepocket for commands, makes its tables, and gives the roles what is new. Servers go
// on with the program that they run.
func (f *Fleet) Use(ctx context.Context, binary string) error {
	f.options.Binary = binary
	if _, err := f.Ninepocket(ctx, "keys", "list", "--control", f.Control()); err != nil {
		return err
	}
	return f.roles(ctx)
}

// Replace ends a server as a service manager does, and starts the program of Use in its place, with its data.
func (f *Fleet) Replace(ctx context.Context, name string) (err error) {
	f.processes[name].stop()
	f.processes[name].path, err = filepath.Abs(f.options.Binary)
	if err != nil {
		return err
	}
	return f.Restart(ctx, name)
}
