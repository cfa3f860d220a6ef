package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/access/statedir"
	"ninepocket/internal/certificate/certificatetest"
	"ninepocket/internal/feedtest"
	"ninepocket/internal/postgrestest"
)

// TestPagesWordForWord pastes what all pages show, and wants an excuse for what it does not paste. It
// goes from nothing to a served catalog with sealed products, through a day, to another machine.
func TestPagesWordForWord(t *testing.T) {
	t.Parallel()
	d := newDocsKit(t)
	admin, stop := d.installs()
	d.spendsADay(admin)
	d.managesKeys()
	stop()
	d.moves()
	d.joins()

	d.demonstrates()
	d.servesItsOwn()
	d.buildsNative()
	d.installsAsRoot()
	d.wantsAll()
}

// inAFolder are swaps that make an installation of the system one of a folder, without root.
var inAFolder = []string{
	"install -d -m 0750 -o ninepocket -g ninepocket /var/lib/ninepocket\nmkdir -p /etc/ninepocket\n", "",
	"/etc/ninepocket/", "", "/var/lib/ninepocket/", "", "runuser -u ninepocket -- ", "",
}

// installs serves the feed's catalog from a shop that the page makes.
func (d *docsKit) installs() (admin string, stop func()) {
	d.t.Helper()
	const page = "docs/INSTALL.md"
	d.folder = filepath.Join(d.folder, "shop")
	if err := os.Mkdir(d.folder, 0o700); err != nil {
		d.t.Fatal(err)
	}
	says(d.t, d.pastes(d.block(page, "ninepocket config check"), inAFolder...), "good")
	d.env = append(d.env, "NINEPOCKET_CONFIG=ninepocket.toml")
	d.store = filepath.Join(d.folder, "store")
	d.pastes(d.block(page, "as()"), inAFolder...)
	says(d.t, d.pastes("as() { \"$@\"; }\n"+d.block(page, "as ninepocket daily"), inAFolder...), "published ")

	// As the unit does.
	server, stop := d.starts("ninepocket serve\n", "ninepocket serve")
	said := d.pastes(d.block(page, "ninepocket status"), "http://127.0.0.1:8080", server.API, "q=charizard", "q=card",
		"ninepocket status", "NINEPOCKET_ADMIN="+strings.TrimPrefix(server.Admin, "http://")+
			" ninepocket status || [ $? = 3 ]")
	says(d.t, said, `"data":[{`, `"name":"Card `, "last day ")
	if n := d.catalog().Sealed.Name.Len(); n != 12 {
		d.t.Errorf("%d sealed products are served", n)
	}

	etc := d.t.TempDir() + "/"
	said = d.pastes(d.block("docs/CONFIGURATION.md", "config print"), "/etc/ninepocket/", etc)
	says(d.t, said, "per_minute", etc)
	d.configures()
	return server.Admin, stop
}

// configures checks the configurations that pages show, and takes over how a feed is read.
func (d *docsKit) configures() {
	d.t.Helper()
	for _, block := range []struct{ page, says, file string }{
		{"docs/KEYS.md", "[plans.partner]", "secure.toml"},
		{"docs/GUARDS.md", "[guards]", "guards.toml"},
		{"docs/DAILY.md", "[tcgcsv]", "mapping/feeds.toml"},
	} {
		text, err := os.ReadFile("../../" + block.page)
		if err != nil {
			d.t.Fatal(err)
		}
		shown := regexp.MustCompile("(?ms)^```toml\n(.*?)^```").FindAllStringSubmatch(string(text), -1)
		fits := slices.IndexFunc(shown, func(m []string) bool { return strings.Contains(m[1], block.says) })
		if fits < 0 {
			d.t.Fatalf("%s shows no %s", block.page, block.says)
		}

		name := filepath.Join(d.folder, block.file)
		if err := os.WriteFile(name, []byte(shown[fits][1]), 0o600); err != nil {
			d.t.Fatal(err)
		}
		if filepath.Dir(block.file) == "." {
			says(d.t, d.pastes("ninepocket config check --store store --state state --config "+block.file), "good")
		}
	}
}

// spendsADay pastes the next evenings, at once and step by step.
func (d *docsKit) spendsADay(admin string) {
	d.t.Helper()
	const page = "docs/DAILY.md"
	d.evening(1, feedtest.Faults{})
	d.pastes(d.block(page, "ninepocket daily"))
	says(d.t, d.pastes(d.block("README.md", "bin/ninepocket daily"), "bin/ninepocket", "ninepocket"), "nothing is new")

	d.evening(2, feedtest.Faults{})
	d.pastes(d.block(page, "feed pull tcgcsv --config"))
	said := d.pastes(d.block(page, "# 1. pull"), "http://127.0.0.1:8081", admin)
	says(d.t, said, "nothing is new", "CHANGE   WHAT", "published ", "rolled back")
	said = d.pastes(d.block(page, "diff --min-percent"))
	says(d.t, said, "0 by more than 50 %", "rollback", "current")
	d.pastes(d.block(page, "mapping suggest"))
	card := fmt.Sprint("tcgplayer:", feedtest.Product(0, 1))
	says(d.t, d.pastes(d.block(page, "snapshot explain"), "tcgplayer:42382", card), "archived days have it: ")

	// A guard is overridden, and the day taken back.
	const guards = "docs/GUARDS.md"
	says(d.t, d.pastes(d.block(guards, "snapshot log")), "rollback", "CHANGE   WHAT")
	says(d.t, d.pastes(d.block(guards, "--override cards_removed")), "published ")
	says(d.t, d.pastes(d.block(guards, "--discard-day")), "rolled back")
}

// managesKeys pastes keys and bills next to the running server.
func (d *docsKit) managesKeys() {
	d.t.Helper()
	id := regexp.MustCompile(`key_\w+`).FindString(d.pastes("ninepocket keys list --state state"))
	bills := d.pastes(d.block("docs/KEYS.md", "keys rotate"), "key_…", id)
	says(d.t, bills, "tenant,surface,plan,per_minute,per_day")

	const page = "docs/KEYS.md"
	says(d.t, d.pastes(d.block(page, "usage --month")), "TENANT", "COMPLETE")
	says(d.t, d.pastes(d.block(page, "usage --day")), "TENANT")
	said := d.pastes(d.block(page, "tenants suspend"))
	says(d.t, said, "changed plan, contact of acme", "suspended acme", "resumed acme",
		"deleted acme: its calls stay under tenant_")
	d.pastes("ninepocket keys create --state state --tenant acme --surface live --plan pro >key")
}

// moves backs the shop up, restores it where it was and on another machine, and serves that: with an access
// log, and with TLS.
func (d *docsKit) moves() {
	d.t.Helper()
	const page = "docs/BACKUP.md"
	folder := filepath.Join(d.t.TempDir(), "backup")
	d.pastes(d.block(page, "state backup"), "/backup/", folder+"-")
	d.env = append(d.env, "NINEPOCKET_BACKUP__INTO="+folder)
	says(d.t, d.pastes(d.block(page, "backup --list")), " new ones, ", "everything is whole", "good at ")

	// The directories are lost, and then the machine.
	d.pastes("mkdir lost\nmv store state feed mapping lost")
	says(d.t, d.pastes(d.block(page, "restore --dry-run")), "which changed nothing", "deleted again: 0")
	machine := filepath.Join(filepath.Dir(d.folder), "moved")
	d.pastes(d.block(page, "--into /var/lib/ninepocket"), "/backup/ninepocket", folder, "/var/lib/ninepocket", machine)
	// The newest tree is not in a backup.
	d.pastes("mv " + machine + "/configuration/ninepocket.toml key " + machine + "\ncp -rn lost/feed/. feed")
	d.folder = machine

	watch := d.block("docs/RUNBOOK.md", "ninepocket serve --access-log")
	serve, request, _ := strings.Cut(watch, "\n")
	logs := d.t.TempDir() + "/"
	server, stop := d.starts(serve, "ninepocket serve", "/var/log/ninepocket/", logs)
	d.watches(server.Admin)
	answer := d.pastes(`curl -sS -i -H "X-API-Key: $(cat key)" ` + server.API + "/v1/games")
	says(d.t, answer, "HTTP/1.1 200")
	stop()
	id := regexp.MustCompile(`req_\w+`).FindString(answer)
	says(d.t, d.pastes(request, "req_2f6ctyq4oz3w", id, "/var/log/ninepocket/", logs), "games_list", "acme")

	tls := d.t.TempDir() + "/"
	certificatetest.Write(d.t, tls+"cert.pem", tls+"key.pem", 1)
	server, stop = d.starts(d.block("docs/INSTALL.md", "--tls-cert"), "ninepocket serve", " …", "",
		":443", "127.0.0.1:0", "/etc/ninepocket/tls/", tls)
	says(d.t, d.pastes("curl -sS --cacert "+tls+"cert.pem "+server.API+"/healthz"), "ok")
	stop()
}

// joins takes the machine into a fleet, where there is a PostgreSQL.
func (d *docsKit) joins() {
	d.t.Helper()
	const page = "docs/FLEET.md"
	if !postgrestest.Installed() {
		const why = "needs PostgreSQL, which is not installed"
		d.lacks = append(d.lacks, excuse{page, "fleet import", why}, excuse{page, "fleet forget", why},
			excuse{"docs/KEYS.md", "plans remove", why})
		d.t.Logf("skipped: three blocks of %s and docs/KEYS.md: %s", page, why)
		return
	}

	database := postgrestest.Start(d.t)
	control := database.Database(d.t)
	export := "export NINEPOCKET_CONTROL='" + control + "'\n"
	// Limits are of one server here, and the database of tests is not durable, which the check finds.
	metering := regexp.MustCompile(`(?m)^export NINEPOCKET_METERING=.*\n`)
	joining := metering.ReplaceAllString(d.block(page, "fleet import"), "")
	said := d.pastes(joining, "postgres://np_admin:PASSWORD@db.internal/cards?sslmode=disable", control,
		"/var/lib/ninepocket/", d.folder+"/", "ninepocket fleet check", "ninepocket fleet check || [ $? = 3 ]")
	says(d.t, said, "acme")
	server, stop := d.starts(export+"ninepocket serve\n", "ninepocket serve")
	answer := d.pastes(`curl -sS -H "X-API-Key: $(cat key)" ` + server.API + "/v1/games")
	says(d.t, answer, `"data":[`)
	stop()
	name, err := statedir.Incarnation(filepath.Join(d.folder, "state"))
	if err != nil {
		d.t.Fatal(err)
	}

	// Its file has the plan that is removed in the end.
	file := filepath.Join(d.folder, "plans.toml")
	if err := os.WriteFile(file, []byte("[plans.trial]\nper_minute = 10\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	said = d.pastes(export+d.block("docs/KEYS.md", "plans remove trial"), "/etc/ninepocket/ninepocket.toml", file)
	says(d.t, said, "nothing is changed", "59.00 USD", "trial")

	// Ten minutes later. The database of tests is not durable, which the check finds.
	database.SQL(d.t, control, "update ninepocket.servers set seen_at = now() - interval '1 hour'")
	said = d.pastes(export+d.block(page, "fleet forget"), "ninepocket fleet check",
		"ninepocket fleet check || [ $? = 3 ]", "f3a94c0217be5d68", name)
	says(d.t, said, "good", "2 of 6 findings are wrong", "silent", "forgot "+name)
}

// watches asks for each path that the page lists of the admin listener.
func (d *docsKit) watches(admin string) {
	d.t.Helper()
	page, err := os.ReadFile("../../docs/RUNBOOK.md")
	if err != nil {
		d.t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(POST )?(/[^`]*)` \\|").FindAllStringSubmatch(string(page), -1)
	if len(rows) < 7 {
		d.t.Errorf("only %d paths were found", len(rows))
	}

	for _, row := range rows {
		method := "GET"
		if row[1] != "" {
			method = "POST"
		}
		d.pastes("curl -sSf -o /dev/null -X " + method + " " + admin + row[2])
	}
}

// servesItsOwn pastes how the example of the README is served. A reader who has no configuration begins
// there, in a folder of his own.
func (d *docsKit) servesItsOwn() {
	d.t.Helper()
	d.folder = d.t.TempDir()
	d.env = append(d.env, "NINEPOCKET_CONFIG=")
	native, err := filepath.Abs("../../docs/examples/native")
	if err != nil {
		d.t.Fatal(err)
	}
	block := strings.NewReplacer("make build ", ": make build ", "bin/ninepocket", "ninepocket",
		"docs/examples/native", native).Replace(d.block("README.md", "make build "))
	server, stop := d.starts(block, "ninepocket serve")
	defer stop()
	says(d.t, d.pastes("curl -sSf "+server.API+"/healthz"), "ok")

	// The same catalog into a store of its own, then the forms of the page about it.
	page := d.block("docs/examples/native/README.md", "snapshot build")
	d.pastes(page, "docs/examples/native", native)
	d.pastes("cp -r " + native + " my-cards; mkdir -p today/prices; cp my-cards/source.toml today\n" +
		"sed s/2026-08-22/2026-08-23/g my-cards/prices/2026-08-22.csv >today/prices/2026-08-23.csv")
}

// buildsNative pastes what the page of the native format shows, next to the feed's tree.
func (d *docsKit) buildsNative() {
	d.t.Helper()
	const page = "docs/NATIVE.md"
	d.pastes("ln -s my-cards my-prices; ln -s " + d.tree() + " tcgplayer")
	d.pastes(d.block(page, "native:my-cards"), "STORE --source native", "own --source native",
		"STORE --source tcgcsv", "both --source tcgcsv")
	d.pastes(d.block(page, "--base current"), "STORE", "own")
}

// tree is the newest tree of the feed that the shop pulled.
func (d *docsKit) tree() string { return filepath.Join(filepath.Dir(d.store), "feed", "current") }
