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
	"testing"
	"time"

	"ninepocket/internal/feedtest"
)

// shBlocks are the blocks of commands of a page, or of the part of it below a heading.
func shBlocks(t *testing.T, page, heading string) (blocks []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if heading != "" {
		_, rest, found := strings.Cut(text, "\n## "+heading+"\n")
		if !found {
			t.Fatalf("%s has no heading %q", page, heading)
		}
		text, _, _ = strings.Cut(rest, "\n## ")
	}

	for _, block := range regexp.MustCompile("(?ms)^```sh\n(.*?)^```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// TestEveryShownCommandIsOne wants each command that a page shows to be one: its words lead to a
// command, which has the flags and takes the arguments.
func TestEveryShownCommandIsOne(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		pages[i], _ = filepath.Rel("../..", pages[i])
	}

	n := 0
	shown := regexp.MustCompile(`(?m)(?:^|[ (])(?:bin/)?ninepocket ([a-z][^#\n|&;)]*)`)
	for _, page := range append(pages, "README.md", "CONTRIBUTING.md") {
		for _, block := range shBlocks(t, page, "") {
			block = strings.ReplaceAll(block, "\\\n", " ")
			// The program is an argument of another one there.
			block = regexp.MustCompile(`(?m)go tool pprof.*$`).ReplaceAllString(block, "")
			for _, found := range shown.FindAllStringSubmatch(block, -1) {
				isCommand(t, page, found[1])
				n++
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d commands were found", n)
	}
}

func isCommand(t *testing.T, page, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " >")
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, `'"`))
	}
	// What a reader is to fill in.
	words = slices.DeleteFunc(words, func(word string) bool { return word == "…" })

	cmd, rest, err := rootCommand().Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.Runnable() {
		t.Errorf("%s shows: ninepocket %s\n%v", page, line, err)
	}
}

// desk is where an operator pastes commands: a folder with a shell, a fake feed behind its
// environment.
type desk struct {
	*house
	folder string
	env    []string
}

// pastes runs a block as it stands, but for what differs from one machine to the next.
func (d *desk) pastes(block string, swaps ...string) string {
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

// TestPagesWordForWord pastes what the pages for operators show, from nothing to a served catalog
// with sealed products, and then through a day.
func TestPagesWordForWord(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("skipped: the pages word for word, because there is no bash")
	}
	plain, err := plainFolder()
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(t, 12, 6)
	d := &desk{house: h, folder: t.TempDir(), env: append(os.Environ(),
		"PATH="+plain+":"+os.Getenv("PATH"), "NINEPOCKET_FEED__URL="+h.url, "NINEPOCKET_FEED__INTERVAL=0s",
		"NINEPOCKET_LISTEN=127.0.0.1:0", "NINEPOCKET_ADMIN=127.0.0.1:0")}

	blocks := shBlocks(t, "docs/INSTALL.md", "From nothing to a served catalog")
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks", len(blocks))
	}
	d.pastes(blocks[0])
	shop := filepath.Join(d.folder, "shop")
	d.folder = shop
	d.env = append(d.env, "NINEPOCKET_CONFIG=ninepocket.toml")
	// The server of this block ends with the test.
	says(t, d.pastes(blocks[1], " &\n", " >serve.log 2>&1 &\necho $! >pid\n"), "published ")
	t.Cleanup(func() {
		_ = exec.Command("bash", "-c", "kill $(cat "+filepath.Join(shop, "pid")+")").Run()
	})

	ready := d.ready(filepath.Join(shop, "ready.json"))
	said := d.pastes(blocks[2], "http://127.0.0.1:8080", ready.API, "q=charizard", "q=card")
	says(t, said, `"data":[{`, `"name":"Card `)
	h.store = filepath.Join(shop, "store")
	if n := h.catalog().Sealed.Name.Len(); n != 12 {
		t.Errorf("%d sealed products are served", n)
	}

	// The next evening, all at once and then step by step.
	h.evening(1, feedtest.Weather{})
	d.pastes(shBlocks(t, "docs/DAILY.md", "The day's work")[0])
	h.evening(2, feedtest.Weather{})
	d.pastes(shBlocks(t, "docs/DAILY.md", "Pulling")[0])
	said = d.pastes(shBlocks(t, "docs/DAILY.md", "Step by step")[0], "http://127.0.0.1:8081", ready.Admin)
	says(t, said, "nothing is new", "LARGEST MOVES", "published ", "rolled back")
	says(t, d.pastes(shBlocks(t, "docs/DAILY.md", "Who did what")[0]), "rollback", "create")
	d.pastes(shBlocks(t, "docs/DAILY.md", "Mapping")[0])

	// Keys and bills beside the running server, and a copy of its state.
	id := regexp.MustCompile(`key_\w+`).FindString(d.pastes("ninepocket keys list --state state"))
	bills := d.pastes(shBlocks(t, "docs/SECURE.md", "Keys, plans, usage")[0], "key_…", id)
	says(t, bills, "tenant,surface,plan,per_minute,per_day")
	for line := range strings.SplitSeq(shBlocks(t, "docs/MOVE.md", "Backup and repair")[0], "\n") {
		if !strings.Contains(line, "repair") {
			d.pastes(line, "/backup/", filepath.Join(shop, "backup")+"-")
		}
	}
}

// ready waits for the ready file of a server.
func (d *desk) ready(name string) (r readyFile) {
	d.t.Helper()
	for range 600 {
		if b, err := os.ReadFile(name); err == nil && json.Unmarshal(bytes.TrimSpace(b), &r) == nil {
			return r
		}
		time.Sleep(100 * time.Millisecond)
	}
	d.t.Fatal("the server was not ready within a minute")
	return r
}
