// Package fleet runs a whole fleet as plain processes of this machine: three servers behind a proxy,
// Redis with two replicas and three Sentinels, PostgreSQL, and an S3-compatible store. compose.yml
// runs the same commands in containers; a test compares the two.
package fleet

import (
	_ "embed"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// The files that containers and plain processes read alike.
var (
	//go:embed haproxy.cfg
	haproxyConfig string
	//go:embed sentinel.conf
	sentinelConfig string
)

// The processes of a fleet, in the order in which they start.
var (
	Redis     = []string{"redis-1", "redis-2", "redis-3"}
	Sentinels = []string{"sentinel-1", "sentinel-2", "sentinel-3"}
	Servers   = []string{"server-1", "server-2", "server-3"}
)

// The other processes of a fleet.
const (
	Postgres = "postgres"
	Store    = "store"
	Proxy    = "proxy"
)

// Bucket is where publications are.
const Bucket = "cards"

// Plan says where each process of a fleet listens and keeps its data, and what it proves itself by.
type Plan struct {
	Bind   string                   // address that processes listen on
	Places map[string]string        // HOST:PORT by name; of a server's admin listener, NAME/admin
	Folder func(name string) string // of what a process keeps

	BaseURL        string // that clients reach the proxy by
	Password       string // of PostgreSQL
	AccessKey      string // of the store
	Secret         string
	Publisher      string // that may sign publications
	TrustedProxies string
}

func (p *Plan) host(name string) string {
	host, _, _ := net.SplitHostPort(p.Places[name])
	return host
}

func (p *Plan) port(name string) string {
	_, port, _ := net.SplitHostPort(p.Places[name])
	return port
}

// listen is what a process binds to.
func (p *Plan) listen(name string) string { return net.JoinHostPort(p.Bind, p.port(name)) }

// PublishTo is the URL of the publications.
func (p *Plan) PublishTo() string {
	return "s3://" + Bucket + "/prod?endpoint=" + url.QueryEscape("http://"+p.Places[Store]) + "&region=us-east-1"
}

// Control is the URL of the database.
func (p *Plan) Control() string {
	return "postgres://np:" + p.Password + "@" + p.Places[Postgres] + "/cards?sslmode=disable"
}

// Metering is the URL of the rights.
func (p *Plan) Metering() string {
	var all []string
	for _, name := range Sentinels {
		all = append(all, p.Places[name])
	}
	return "redis+sentinel://" + strings.Join(all, ",") + "/cards"
}

// Credentials are the variables by which programs prove themselves to the store.
func (p *Plan) Credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + p.AccessKey, "AWS_SECRET_ACCESS_KEY=" + p.Secret}
}

// Command is the command line of a process, and the variables that it needs.
func (p *Plan) Command(name string) (line, env []string) {
	switch {
	case slices.Contains(Redis, name):
		return p.redis(name), nil
	case slices.Contains(Sentinels, name):
		return []string{"redis-sentinel", p.Folder(name) + "/sentinel.conf"}, nil
	case slices.Contains(Servers, name):
		return p.server(name), p.serverEnv()
	case name == Postgres:
		return []string{"postgres", "-c", "max_connections=100"}, nil
	case name == Store:
		return []string{"versitygw", "--port", p.listen(name), "--quiet", "posix", p.Folder(name)},
			[]string{"ROOT_ACCESS_KEY=" + p.AccessKey, "ROOT_SECRET_KEY=" + p.Secret}
	}
	return []string{"haproxy", "-f", p.Folder(name) + "/haproxy.cfg", "-db"}, p.proxyEnv()
}

// redis keeps what it acknowledged on two machines and on disk, and refuses writes of which nobody
// has a copy (docs/FLEET.md, Rights).
func (p *Plan) redis(name string) []string {
	return []string{
		"redis-server", p.Folder(name) + "/redis.conf", "--bind", p.Bind, "--port", p.port(name), "--dir",
		p.Folder(name), "--protected-mode", "no", "--appendonly", "yes", "--save", "",
		"--maxmemory-policy", "noeviction",
		"--min-replicas-to-write", "1", "--min-replicas-max-lag", "3", "--repl-diskless-sync-delay", "0",
		"--replica-announce-ip", p.host(name), "--replica-announce-port", p.port(name),
	}
}

// RedisConfig is what the configuration of a Redis begins with. Sentinels write into it which one is
// the primary. As a flag, it would win at each start: a primary that comes back would follow one of
// its replicas, and what only the other one has would be lost.
func (p *Plan) RedisConfig(name string) string {
	if first := Redis[0]; name != first {
		return "replicaof " + p.host(first) + " " + p.port(first) + "\n"
	}
	return "\n"
}

// Sentinel is the configuration of a Sentinel.
func (p *Plan) Sentinel(name string) string {
	first := Redis[0]
	return strings.NewReplacer(
		"port 26379", "port "+p.port(name)+"\nbind "+p.Bind+"\ndir \""+p.Folder(name)+"\"",
		first+" 6379", p.host(first)+" "+p.port(first),
	).Replace(sentinelConfig)
}

func (p *Plan) server(name string) []string {
	return []string{
		"ninepocket", "serve", "--store", p.PublishTo(), "--store-cache", p.Folder(name) + "/store", "--state",
		p.Folder(name) + "/state", "--metering", p.Metering(), "--listen", p.listen(name), "--admin",
		p.listen(name + "/admin"), "--base-url", p.BaseURL, "--log-format", "json",
		"--access-log", p.Folder(name) + "/access.log",
	}
}

// serverEnv holds what a list of processes must not show.
func (p *Plan) serverEnv() []string {
	return append(p.Credentials(), "NINEPOCKET_CONTROL="+p.Control(), "NINEPOCKET_PUBLISHERS="+p.Publisher,
		"NINEPOCKET_TRUSTED_PROXIES="+p.TrustedProxies)
}

func (p *Plan) proxyEnv() []string {
	env := []string{"NP_LISTEN=" + p.listen(Proxy)}
	for i, name := range Servers {
		n := i + 1
		env = append(env, fmt.Sprintf("NP_SERVER_%d=%s", n, p.Places[name]),
			fmt.Sprintf("NP_ADMIN_HOST_%d=%s", n, p.host(name+"/admin")),
			fmt.Sprintf("NP_ADMIN_PORT_%d=%s", n, p.port(name+"/admin")))
	}
	return env
}
