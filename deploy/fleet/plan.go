// Package fleet runs a whole fleet as plain processes of this machine: three servers behind a proxy,
// Redis with two replicas and three Sentinels, PostgreSQL, and an S3-compatible store. compose.yml
// runs the same commands in containers; a test compares the two.
package fleet

import (
	_ "embed"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Files that both containers and plain processes read.
var (
	//go:embed haproxy.cfg
	haproxyConfig string
	//go:embed sentinel.conf
	sentinelConfig string
	//go:embed users.acl
	usersConfig string
	//go:embed roles.sql
	rolesSQL string
)

// The processes of a fleet, in the order of their start.
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

// Bucket is the bucket of the releases.
const Bucket = "cards"

// Plan has the addresses, folders and credentials of the processes of a fleet.
type Plan struct {
	Bind   string                   // address that processes bind
	Places map[string]string        // HOST:PORT by name; of a server's admin listener, NAME/admin
	Folder func(name string) string // of a process's data

	BaseURL          string // of the proxy
	Password         string // of PostgreSQL's superuser np, and of np_admin
	AdminPassword    string // password of admin, in Redis
	ServerPassword   string // password of servers, in PostgreSQL and Redis
	InternalPassword string // password of replicas and Sentinels, in Redis
	SentinelPassword string // password of the Sentinels
	AccessKey        string // of the store
	Secret           string
	Publisher        string // key that may sign releases
	TrustedProxies   string

	// Way returns the address at which a server reaches a process; nil = where it listens.
	Way func(server, name, address string) string
}

// seenBy returns the plan as a server sees it.
func (p *Plan) seenBy(server string) *Plan {
	if p.Way == nil {
		return p
	}
	seen := *p
	seen.Places = maps.Clone(p.Places)
	for _, name := range slices.Concat(Redis, Sentinels, []string{Postgres, Store}) {
		seen.Places[name] = p.Way(server, name, p.Places[name])
	}
	return &seen
}

func (p *Plan) host(name string) string {
	host, _, _ := net.SplitHostPort(p.Places[name])
	return host
}

func (p *Plan) port(name string) string {
	_, port, _ := net.SplitHostPort(p.Places[name])
	return port
}

// listen returns the address that a process binds.
func (p *Plan) listen(name string) string { return net.JoinHostPort(p.Bind, p.port(name)) }

// PublishTo returns the URL of the releases.
func (p *Plan) PublishTo() string {
	return "s3://" + Bucket + "/prod?endpoint=" + url.QueryEscape("http://"+p.Places[Store]) + "&region=us-east-1"
}

// Control returns the URL of the database for commands.
func (p *Plan) Control() string { return p.controlAs("np_admin:" + p.Password) }

func (p *Plan) controlAs(login string) string {
	return "postgres://" + login + "@" + p.Places[Postgres] + "/cards?sslmode=disable"
}

// Metering returns the URL of Redis, through the Sentinels.
func (p *Plan) Metering() string {
	var all []string
	for _, name := range Sentinels {
		all = append(all, p.Places[name])
	}
	return "redis+sentinel://np:" + p.ServerPassword + "@" + strings.Join(all, ",") + "/cards?sentinel_password=" +
		p.SentinelPassword
}

// Credentials returns the environment variables with the credentials of the store.
func (p *Plan) Credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + p.AccessKey, "AWS_SECRET_ACCESS_KEY=" + p.Secret}
}

// Command returns the command line of a process, and its environment variables.
func (p *Plan) Command(name string) (line, env []string) {
	switch {
	case slices.Contains(Redis, name):
		return p.redis(name), nil
	case slices.Contains(Sentinels, name):
		return []string{"redis-sentinel", p.Folder(name) + "/sentinel.conf"}, nil
	case slices.Contains(Servers, name):
		return p.seenBy(name).server(name), p.seenBy(name).serverEnv()
	case name == Postgres:
		return []string{"postgres", "-c", "max_connections=100"}, nil
	case name == Store:
		return []string{"versitygw", "--port", p.listen(name), "--quiet", "posix", p.Folder(name)},
			[]string{"ROOT_ACCESS_KEY=" + p.AccessKey, "ROOT_SECRET_KEY=" + p.Secret}
	}
	return []string{"haproxy", "-f", p.Folder(name) + "/haproxy.cfg", "-db"}, p.proxyEnv()
}

// redis stores acknowledged writes on two machines and on disk, and refuses writes without a
// replica (docs/FLEET.md, Build).
func (p *Plan) redis(name string) []string {
	return []string{
		"redis-server", p.Folder(name) + "/redis.conf", "--bind", p.Bind, "--port", p.port(name), "--dir",
		p.Folder(name), "--aclfile", p.Folder(name) + "/users.acl", "--appendonly", "yes", "--save", "",
		"--maxmemory-policy", "noeviction",
		"--min-replicas-to-write", "1", "--min-replicas-max-lag", "3", "--repl-diskless-sync-delay", "0",
		"--replica-announce-ip", p.host(name), "--replica-announce-port", p.port(name),
	}
}

// RedisConfig returns the beginning of a Redis's configuration. Sentinels write into it which one
// is the primary. A flag instead would win at each start: a primary that restarts would follow one
// of its replicas, and writes that this replica lacks would be lost.
func (p *Plan) RedisConfig(name string) string {
	login := "masteruser replica\nmasterauth " + p.InternalPassword + "\n"
	if first := Redis[0]; name != first {
		return login + "replicaof " + p.host(first) + " " + p.port(first) + "\n"
	}
	return login
}

// withPasswords puts the passwords into a file of this folder.
func (p *Plan) withPasswords(text string) string {
	return strings.NewReplacer("ADMIN_PASSWORD", p.AdminPassword, "SERVERS_PASSWORD", p.ServerPassword,
		"INTERNAL_PASSWORD", p.InternalPassword, "SENTINEL_PASSWORD", p.SentinelPassword).Replace(text)
}

// Sentinel returns the configuration of a Sentinel.
func (p *Plan) Sentinel(name string) string {
	first := Redis[0]
	return strings.NewReplacer(
		"port 26379", "port "+p.port(name)+"\nbind "+p.Bind+"\ndir \""+p.Folder(name)+"\"",
		first+" 6379", p.host(first)+" "+p.port(first),
	).Replace(p.withPasswords(sentinelConfig))
}

func (p *Plan) server(name string) []string {
	return []string{
		"ninepocket", "serve", "--store", p.PublishTo(), "--store-cache", p.Folder(name) + "/store", "--state",
		p.Folder(name) + "/state", "--listen", p.listen(name), "--admin",
		p.listen(name + "/admin"), "--base-url", p.BaseURL, "--log-format", "json",
		"--access-log", p.Folder(name) + "/access.log",
	}
}

// serverEnv has the settings that a list of processes must not show.
func (p *Plan) serverEnv() []string {
	return append(p.Credentials(), "NINEPOCKET_CONTROL="+p.controlAs("np_servers:"+p.ServerPassword),
		"NINEPOCKET_METERING="+p.Metering(), "NINEPOCKET_PUBLISHERS="+p.Publisher,
		"NINEPOCKET_TRUSTED_PROXIES="+p.TrustedProxies)
}

func (p *Plan) proxyEnv() []string {
	env := []string{"NP_LISTEN=" + p.listen(Proxy), "NP_METRICS=" + p.listen(Proxy+"/metrics"), "NP_TLS="}
	for i, name := range Servers {
		n := i + 1
		env = append(env, fmt.Sprintf("NP_SERVER_%d=%s", n, p.Places[name]),
			fmt.Sprintf("NP_ADMIN_HOST_%d=%s", n, p.host(name+"/admin")),
			fmt.Sprintf("NP_ADMIN_PORT_%d=%s", n, p.port(name+"/admin")))
	}
	return env
}
