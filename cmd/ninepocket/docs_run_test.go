package main

import (
	"fmt"
	"html"
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

// TestPagesWordForWord pastes the command blocks of all pages, and wants an excuse for every other
// block. It goes from nothing to a served catalog with sealed products, through a day, to another
// machine.
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

// installs serves the feed's catalog from a shop that the page makes.
func (d *docsKit) installs() (admin string, stop func()) {
	d.t.Helper()
	const page = "docs/INSTALL.md"
	d.pastes(d.block(page, "mkdir shop"))
	d.folder = filepath.Join(d.folder, "shop")
	d.env = append(d.env, "NINEPOCKET_CONFIG=ninepocket.toml")
	d.store = filepath.Join(d.folder, "store")
	server, stop := d.starts(d.block(page, "serve --ready-file"), "ninepocket serve")

	said := d.pastes(d.block(page, "[ -e ready.json ]"), "http://127.0.0.1:8080", server.API,
		"q=charizard", "q=card")
	says(d.t, said, `"data":[{`, `"name":"Card `)
	if n := d.catalog().Sealed.Name.Len(); n != 12 {
		d.t.Errorf("%d sealed products are served", n)
	}

	etc := d.t.TempDir() + "/"
	said = d.pastes(d.block(page, "config print"), "/etc/ninepocket/", etc)
	says(d.t, said, "per_minute", etc)
	d.configures()
	return server.Admin, stop
}

// configures checks the configurations that pages show, and takes over how a feed is read.
func (d *docsKit) configures() {
	d.t.Helper()
	for _, block := range []struct{ page, says, file string }{
		{"docs/SECURITY-MODEL.md", "[plans.partner]", "secure.toml"},
		{"docs/DAILY.md", "[guards]", "guards.toml"},
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
	says(d.t, d.pastes(d.block(page, "snapshot log")), "rollback", "create")
	d.pastes(d.block(page, "mapping suggest"))
	says(d.t, d.pastes(d.block(page, "diff --min-percent")), "0 by more than 50 %")
	card := fmt.Sprint("tcgplayer:", feedtest.Product(0, 1))
	says(d.t, d.pastes(d.block(page, "snapshot explain"), "tcgplayer:42382", card), "archived days have it: ")
}

// managesKeys pastes keys and bills next to the running server.
func (d *docsKit) managesKeys() {
	d.t.Helper()
	id := regexp.MustCompile(`key_\w+`).FindString(d.pastes("ninepocket keys list --state state"))
	bills := d.pastes(d.block("docs/SECURITY-MODEL.md", "keys rotate"), "key_…", id)
	says(d.t, bills, "tenant,surface,plan,per_minute,per_day")

	const page = "docs/SECURITY-MODEL.md"
	says(d.t, d.pastes(d.block(page, "usage --month")), "TENANT", "COMPLETE")
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
		for _, says := range []string{"keys create --tenant acme", "fleet forget"} {
			d.lacks = append(d.lacks, excuse{page, says, "needs PostgreSQL, which is not installed"})
			d.t.Logf("skipped: the block of %s that says %q, because PostgreSQL is not installed", page, says)
		}
		return
	}

	database := postgrestest.Start(d.t)
	control := database.Database(d.t)
	export := "export NINEPOCKET_CONTROL='" + control + "'\n"
	server, stop := d.starts(d.block(page, "keys create --tenant acme"), "ninepocket serve",
		"postgres://np_admin:PASSWORD@db.internal/cards?sslmode=verify-full", control,
		"/var/lib/ninepocket/", d.folder+"/",
		"--tenant acme", "--tenant other") // acme is on the machine, on another plan
	answer := d.pastes(`curl -sS -H "X-API-Key: $(cat key)" ` + server.API + "/v1/games")
	says(d.t, answer, `"data":[`)
	stop()
	name, err := statedir.ServerID(filepath.Join(d.folder, "state"))
	if err != nil {
		d.t.Fatal(err)
	}

	// Its file has the plan that is removed in the end.
	file := filepath.Join(d.folder, "plans.toml")
	if err := os.WriteFile(file, []byte("[plans.trial]\nper_minute = 10\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	said := d.pastes(export+d.block(page, "plans remove trial"), "/etc/ninepocket/ninepocket.toml", file)
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

// demonstrates pastes what the README and the API page show of the demo, and a client of MCP by hand.
func (d *docsKit) demonstrates() {
	d.t.Helper()
	// small is the demo in place of make demo, with no tests in place of make test.
	const small = "ninepocket demo --cards 300 --listen 127.0.0.1:0 --admin 127.0.0.1:0"
	two := strings.NewReplacer("make demo", small, "make test", ": make test").
		Replace(d.block("README.md", "make demo"))
	server, stop := d.starts(two, "ninepocket demo")
	defer stop()
	use := d.block("README.md", "export API")
	key := []string{
		"http://127.0.0.1:8080", server.API, "npk_live_…", server.Keys["pro"], "npk_prev_…", server.Keys["preview"],
	}

	said := d.pastes(use+strings.ReplaceAll(d.block("README.md", "charizrd"), "curl -s ", "curl -sSf "), key...)
	says(d.t, said, `"name":"Charizard"`, `"days":30`, `"games":[`, `"direction":"up"`, `"ref":"partner:100159"`,
		`"not_found":[]`, `"total_cents":90000`)
	said = d.pastes(use+strings.ReplaceAll(d.block("README.md", "export PREVIEW"), "curl -s ", "curl -sSf "), key...)
	says(d.t, said, `"product_id":"prd_`, `"condition":"near_mint"`)
	said = d.pastes(strings.ReplaceAll(d.block("docs/API.md", "charizrd"), "curl -s ", "curl -sSf "), key...)
	says(d.t, said, `"name":"Charizard"`, `"market_price_cents":45000`)

	said = d.pastes(use+strings.ReplaceAll(d.block("docs/MOVE-FROM.md", "v2/cards"), "curl -s ", "curl -sSf "), key...)
	says(d.t, said, `"name":"Charizard"`, `"totalCount":`, `"market":450,`, `"set":{"name":`, `"Common"`)
	mcp := []string{"https://cards.example", server.API, "YOUR_KEY", server.Keys["pro"]}
	says(d.t, d.pastes(d.block("docs/MCP.md", "tools/call"), mcp...), "Charizard")
	says(d.t, d.pastes(d.block("docs/MCP.md", `"method":"server/discover"`), mcp...), "2026-07-28")
	d.runsExamples(use, key)
	d.runsGuide(server.API, server.Keys["pro"])
}

// runsGuide runs the programs that the API reference shows, where there is what runs them: each prints
// the cards of a search with their prices.
func (d *docsKit) runsGuide(api, key string) {
	d.t.Helper()
	page := d.pastes("curl -sSf " + api + "/docs")
	program := regexp.MustCompile(`(?s)<summary>(curl|Python|TypeScript|Go)</summary>` +
		`<pre tabindex="0"><code>(.*?)</code>`)
	shown := program.FindAllStringSubmatch(page, -1)
	if len(shown) != 4 {
		d.t.Fatalf("the reference shows %d programs", len(shown))
	}

	// An older node does not take types away by itself.
	types := regexp.MustCompile(`(?m)^type .*$|<T>|<\{.*?\}>|: (?:string|Record<string, string>|Promise<T>)| as T\b`)
	for _, program := range shown {
		text := html.UnescapeString(program[2])
		run := map[string][3]string{
			"curl": {"jq", "walk.sh", "bash walk.sh"}, "Python": {"python3", "walk.py", "python3 walk.py"},
			"TypeScript": {"node", "walk.mjs", "node walk.mjs"}, "Go": {"go", "walk.go", "go run walk.go"},
		}[program[1]]
		if version := map[bool]string{true: "version", false: "--version"}[run[0] == "go"]; !d.has(
			"the guide's program in "+program[1], run[0], version) {
			continue
		}
		if program[1] == "TypeScript" {
			text = types.ReplaceAllString(text, "")
		}

		if err := os.WriteFile(filepath.Join(d.folder, run[1]), []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
		said := d.pastes("KEY=" + key + " " + run[2])
		if !regexp.MustCompile(`(?m)^Charizard\b.*\b45000$`).MatchString(said) {
			d.t.Errorf("the program in %s says %.600s", program[1], said)
		}
	}
}

// runsExamples runs the programs that the README shows, where there is what runs them.
func (d *docsKit) runsExamples(use string, key []string) {
	d.t.Helper()
	for _, example := range []struct{ fence, program, file, says string }{
		{"python", "python3", "example.py", "Pikachu"}, {"ts", "node", "example.mjs", "Luffy"},
	} {
		if !d.has("the example in "+example.fence, example.program, "--version") {
			continue
		}
		readme, err := os.ReadFile("../../README.md")
		if err != nil {
			d.t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(readme), "\n```"+example.fence+"\n")
		text, _, _ = strings.Cut(text, "\n```")
		if example.fence == "ts" {
			// An older node does not take types away by itself.
			text = regexp.MustCompile(`(?m)^(import )?type .*$| as Search|!`).ReplaceAllString(text, "")
		}

		if err := os.WriteFile(filepath.Join(d.folder, example.file), []byte(text), 0o600); err != nil {
			d.t.Fatal(err)
		}
		says(d.t, d.pastes(use+example.program+" "+example.file, key...), example.says)
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

// buildsNative pastes the commands of the page on the native format, next to the feed directory.
func (d *docsKit) buildsNative() {
	d.t.Helper()
	const page = "docs/NATIVE.md"
	d.pastes("ln -s my-cards my-prices; ln -s " + d.tree() + " tcgplayer")
	d.pastes(d.block(page, "native:my-cards"), "STORE --source native", "own --source native",
		"STORE --source tcgcsv", "both --source tcgcsv")
	d.pastes(d.block(page, "--base current"), "STORE", "own")
}

// tree is the newest full download that the shop pulled.
func (d *docsKit) tree() string { return filepath.Join(filepath.Dir(d.store), "feed", "current") }
