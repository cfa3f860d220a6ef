package main

import (
	"html"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// demonstrates pastes the commands that pages show of the demo.
func (d *docsKit) demonstrates() {
	d.t.Helper()
	// The demo of make demo, smaller.
	const small = "ninepocket demo --cards 300 --listen 127.0.0.1:0 --admin 127.0.0.1:0"
	demo := strings.ReplaceAll(d.block("README.md", "make demo"), "make demo", small)
	server, stop := d.starts(demo, "ninepocket demo")
	defer stop()
	key := []string{
		"http://127.0.0.1:8080", server.API, "npk_live_…", server.Keys["pro"], "npk_prev_…", server.Keys["preview"],
		"curl -s ", "curl -sSf ",
	}
	use := "export API=" + server.API + " KEY=" + server.Keys["pro"] + " PREVIEW=" + server.Keys["preview"] + "\n"

	said := d.pastes(d.block("README.md", "charizrd"), key...)
	says(d.t, said, `{"data":[{"id":"card_5vfvbdg5zt4y47pl","name":"Charizard","number":"4/102",`+
		`"set":{"name":"Kanto Classic"}`, `"price":{"currency":"USD","market_price_cents":45000,`)
	said = d.pastes(d.block("docs/PARTNER.md", "export API"), key...)
	says(d.t, said, `"product_id":"prd_5vfvbdg5zt4y47pl"`, `"value":"100012"`, `"amount_cents":45000`)

	said = d.pastes(use+d.block("docs/MOVE-FROM.md", "v2/cards"), key...)
	says(d.t, said, `"name":"Charizard"`, `"totalCount":`, `"market":450,`, `"set":{"name":`, `"Common"`)
	mcp := []string{"https://cards.example", server.API, "YOUR_KEY", server.Keys["pro"]}
	says(d.t, d.pastes(d.block("docs/MCP.md", "tools/call"), mcp...), "Charizard")
	says(d.t, d.pastes(d.block("docs/MCP.md", `"method":"server/discover"`), mcp...), "2026-07-28")

	d.followsGuide(use, key, server.API)
	d.proxies(use)
	d.pricesNightly(use)
}

// followsGuide pastes the guide for clients, and runs its programs where something runs them: each prints the
// cards of a search with their prices. /docs shows the same programs.
func (d *docsKit) followsGuide(use string, key []string, api string) {
	d.t.Helper()
	const page = "docs/GUIDE.md"
	said := d.pastes(d.block(page, "charizrd"), key...)
	says(d.t, said, `"name":"Charizard"`, `"market_price_cents":45000`, `/cards/kanto-classic-charizard-4-102"`)
	said = d.pastes(use+d.block(page, "/v1/prices/batch"), key...)
	says(d.t, said, `"market_price_cents":45000`, `"not_found":["nope"]`)

	client, err := filepath.Abs("../../clients/go")
	if err != nil {
		d.t.Fatal(err)
	}
	module := "export GOFLAGS=-mod=mod GOWORK=off\n[ -e go.mod ] || go mod init example.com/walk\n" +
		"go mod edit -require ninepocket/clients/go@v1.0.0 -replace ninepocket/clients/go=" + client + "\n"
	docs := html.UnescapeString(d.pastes("curl -sSf " + api + "/docs"))
	for _, example := range []struct{ fence, program, version, file, run string }{
		{"sh", "jq", "--version", "walk.sh", "bash walk.sh"},
		{"python", "python3", "--version", "walk.py", "python3 walk.py"},
		{"ts", "node", "--version", "walk.mjs", "node walk.mjs"},
		{"go", "go", "version", "walk.go", module + "go run walk.go"},
	} {
		text := fenced(d.t, page, example.fence, "")
		if example.fence == "sh" {
			text = d.block(page, "next_cursor // empty")
		}
		if !strings.Contains(docs, strings.TrimSpace(text)) {
			d.t.Errorf("/docs does not show the guide's program in %s", example.fence)
		}
		if !d.has("the guide's program in "+example.fence, example.program, example.version) {
			continue
		}
		if example.fence == "ts" {
			text = untyped.ReplaceAllString(text, "")
		}

		d.writes(example.file, text)
		said := d.pastes(use + example.run)
		if !regexp.MustCompile(`(?m)^Charizard\b.*\b45000$`).MatchString(said) {
			d.t.Errorf("the program in %s says %.600s", example.fence, said)
		}
	}
}

// untyped are the types of a program, which an older node does not take away by itself.
var untyped = regexp.MustCompile(`(?m)^type .*$|<T>|<\{.*?\}>|: (?:string|Record<string, string>|Promise<T>)| as T\b`)

// proxies runs the proxy of the guide: it has the price of its card with the attribution, and no other card.
func (d *docsKit) proxies(use string) {
	d.t.Helper()
	if !d.has("the guide's proxy", "node", "--version") {
		return
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	address := listener.Addr().String()
	_, port, _ := net.SplitHostPort(address)
	if err := listener.Close(); err != nil {
		d.t.Fatal(err)
	}

	d.writes("proxy.mjs", fenced(d.t, "docs/GUIDE.md", "js", "createServer"))
	said := d.pastes(use + "PORT=" + port + " node proxy.mjs &\ntrap 'kill $!' EXIT\n" +
		"curl -sSf --retry-connrefused --retry 60 --retry-delay 1 http://" + address +
		"/kanto-classic-charizard-4-102\n" +
		"curl -sS -w '%{http_code}' http://" + address + "/another\n")
	says(d.t, said, `"name":"Charizard"`, `"market_price_cents":45000`, `"use_until":"`,
		`"attribution":"Synthetic market reference, not real prices"`, "{}503")
}

// pricesNightly runs the nightly job of the partner's page twice. The second run charges nothing.
func (d *docsKit) pricesNightly(use string) {
	d.t.Helper()
	if !d.has("the partner's nightly job", "python3", "-c", "from datetime import UTC") {
		return
	}

	d.writes("nightly.py", fenced(d.t, "docs/PARTNER.md", "python", ""))
	const used = `curl -sSf -H "X-API-Key: $PREVIEW" "$API/v1/usage" | grep -o '"request_credits_used":[0-9]*'` + "\n"
	says(d.t, d.pastes(use+"python3 nightly.py prices.csv\nhead -n 1 prices.csv\ngrep -c ,near_mint,fresh, prices.csv"),
		" prices of ", "product_id,variant,condition,status,cents")
	before := d.pastes(use + used)
	d.pastes(use + "python3 nightly.py prices.csv")
	if after := d.pastes(use + used); after != before {
		d.t.Errorf("the second run of the nightly job was charged: %s after %s", after, before)
	}
}

// writes writes a file into the folder where commands are pasted.
func (d *docsKit) writes(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.folder, name), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// fenced is the first block of a page in a language that says something.
func fenced(t *testing.T, page, language, says string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}

	pattern := regexp.MustCompile("(?ms)^```" + language + "\n(.*?)^```")
	for _, block := range pattern.FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(block[1], says) {
			return block[1]
		}
	}
	t.Fatalf("%s has no block of %s that says %q", page, language, says)
	return ""
}

// TestPagesAreShort holds the lengths that pages of clients may have.
func TestPagesAreShort(t *testing.T) {
	for page, limit := range map[string]int{
		"README.md": 130, "docs/GLOSSARY.md": 50, "docs/DATA.md": 90, "docs/GUIDE.md": 220, "docs/API.md": 450,
		"docs/ERRORS.md": 130, "docs/PARTNER.md": 180, "docs/MCP.md": 130, "docs/VALUATION.md": 130,
		"docs/SEARCH-SYNTAX.md": 60,
	} {
		text, err := os.ReadFile(filepath.Join("../..", page))
		if err != nil {
			t.Error(err)
		}
		if lines := strings.Count(string(text), "\n"); lines > limit {
			t.Errorf("%s has %d lines of %d", page, lines, limit)
		}
	}

	if picture, err := os.Stat("../../docs/card.png"); err != nil || picture.Size() > 150_000 {
		t.Errorf("the picture of README.md: %v, or it is too large", err)
	}
}
