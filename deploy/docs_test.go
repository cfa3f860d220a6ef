package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestExitCodesOfTheUnit holds the table of exit codes in docs/INSTALL.md against the unit and the program.
func TestExitCodesOfTheUnit(t *testing.T) {
	prevented := strings.Fields(regexp.MustCompile(`(?m)^RestartPreventExitStatus=(.*)$`).
		FindStringSubmatch(read(t, "systemd/ninepocket.service"))[1])
	_, table, _ := strings.Cut(read(t, "../docs/INSTALL.md"), "\n## Exit codes\n")
	rows := regexp.MustCompile(`(?m)^\| (\d) \| .* \| (yes|no) \|$`).FindAllStringSubmatch(table, -1)

	// The program's codes count from 0.
	program := read(t, "../cmd/ninepocket/main.go")
	constants := regexp.MustCompile(`(?s)exitOK = iota\n(.*?)\)`).FindStringSubmatch(program)
	if constants == nil {
		t.Fatal("the program has no exit codes")
	}
	codes := 1 + len(regexp.MustCompile(`(?m)^\texit\w+`).FindAllString(constants[1], -1))
	if len(rows) != codes {
		t.Errorf("the page has %d exit codes, the program %d", len(rows), codes)
	}
	for _, row := range rows {
		again := row[1] != "0" && !slices.Contains(prevented, row[1])
		if again != (row[2] == "yes") {
			t.Errorf("the page says %q of exit code %s, the unit prevents %v", row[2], row[1], prevented)
		}
	}
}

// TestRedisOfThePage wants redis.conf of docs/FLEET.md to have every setting of compose.yml.
func TestRedisOfThePage(t *testing.T) {
	page := read(t, "../docs/FLEET.md")
	conf := regexp.MustCompile("(?s)```\n(bind .*?)```").FindStringSubmatch(page)
	if conf == nil {
		t.Fatal("docs/FLEET.md has no redis.conf")
	}

	command := regexp.MustCompile(`(?s)command: \["redis-server", "/data/redis.conf", (.*?)\]`).
		FindStringSubmatch(read(t, "fleet/compose.yml"))

	n := 0
	for _, flag := range regexp.MustCompile(`"--([a-z-]+)", "([^"]*)"`).FindAllStringSubmatch(command[1], -1) {
		n++
		value := regexp.MustCompile(`(?m)^` + flag[1] + ` (.*)$`).FindStringSubmatch(conf[1])
		// Addresses, folders and names are the machine's own.
		differs := slices.Contains([]string{"bind", "dir", "aclfile", "replica-announce-ip"}, flag[1])
		if value == nil || !differs && strings.Trim(value[1], `"`) != flag[2] {
			t.Errorf("redis.conf of docs/FLEET.md has %q for %s, compose.yml %q", value, flag[1], flag[2])
		}
	}
	if n < 10 {
		t.Errorf("compose.yml has %d settings of Redis", n)
	}
}

// TestProxyOfThePage wants docs/FLEET.md to name every variable of haproxy.cfg, of one server for all.
func TestProxyOfThePage(t *testing.T) {
	page := read(t, "../docs/FLEET.md")
	for _, name := range regexp.MustCompile(`NP_[A-Z_0-9]+`).FindAllString(read(t, "fleet/haproxy.cfg"), -1) {
		name = regexp.MustCompile(`_[23]$`).ReplaceAllString(name, "_1")
		if !strings.Contains(page, "\n"+name+"=") {
			t.Errorf("docs/FLEET.md has no value of %s", name)
		}
	}
}

// anchors are the anchors of a page, as Markdown makes them of its headings.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	fences := regexp.MustCompile("(?ms)^```.*?^```")
	prose := fences.ReplaceAllString(text, "")
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(prose, -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading[1], "$1")
		title = regexp.MustCompile(`[^\p{L}\p{N}\p{M} _-]`).ReplaceAllString(strings.ToLower(title), "")
		all[strings.ReplaceAll(title, " ", "-")] = true
	}
	for _, name := range regexp.MustCompile(`<a (?:id|name)="([^"]+)"`).FindAllStringSubmatch(text, -1) {
		all[name[1]] = true
	}
	return all
}

// checkLinks wants each relative link of the pages of a folder to lead to a file there, and to a heading of it.
func checkLinks(t *testing.T, root string, pages []string) {
	t.Helper()
	links := 0
	known := map[string]map[string]bool{}
	for _, page := range pages {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}

		plain := regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`").ReplaceAllString(string(text), "")
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(plain, -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
				continue
			}
			links++

			file := page
			if target != "" {
				file = path.Join(path.Dir(page), target)
			}
			b, err := os.ReadFile(filepath.Join(root, file))
			if _, folder := os.Stat(filepath.Join(root, file)); err != nil && folder != nil {
				t.Errorf("%s links to %s, which is not there", page, link[1])
				continue
			}
			if known[file] == nil {
				known[file] = anchors(string(b))
			}
			if anchor != "" && strings.HasSuffix(file, ".md") && !known[file][anchor] {
				t.Errorf("%s links to %s, which has no such heading; it has %q", page, link[1],
					slices.Sorted(maps.Keys(known[file])))
			}
		}
	}
	t.Logf("%d links of %d pages", links, len(pages))
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// TestLinksOfPages follows the links between all pages of the repository.
func TestLinksOfPages(t *testing.T) {
	var pages []string
	skipped := []string{"node_modules", ".git", "dist", "testdata"}
	err := filepath.WalkDir("..", func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains(skipped, entry.Name()) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".md") {
			pages = append(pages, filepath.ToSlash(strings.TrimPrefix(name, "../")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	checkLinks(t, "..", pages)
}

// TestInstalledPages installs the pages and examples as make install does, and follows the links of
// the pages. Links of alerts and units are followed, too.
func TestInstalledPages(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), tool(t, "make"), "-n", "install", "DESTDIR="+dir, "PREFIX=/usr")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("make -n install: %v", err)
	}

	// Code is left out.
	var steps []string
	for line := range strings.SplitSeq(strings.ReplaceAll(string(out), "\\\n", ""), "\n") {
		if strings.Contains(line, "/share/doc/ninepocket") {
			steps = append(steps, line)
		}
	}
	shell := exec.CommandContext(t.Context(), "sh", "-e", "-c", strings.Join(steps, "\n"))
	shell.Dir = ".."
	if out, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, strings.Join(steps, "\n"))
	}

	root := filepath.Join(dir, "usr/share/doc/ninepocket")
	pages, err := filepath.Glob(filepath.Join(root, "*.md"))
	if err != nil || len(pages) < 10 {
		t.Fatalf("%q, %v", pages, err)
	}
	for i := range pages {
		pages[i] = filepath.Base(pages[i])
	}
	checkLinks(t, root, pages)

	rules := read(t, filepath.Join(root, "examples/alerts.yml"))
	for _, url := range regexp.MustCompile(`runbook_url: 'file://([^#']+)#`).FindAllStringSubmatch(rules, -1) {
		if _, err := os.Stat(dir + url[1]); err != nil {
			t.Fatalf("the rules lead to a runbook that is not installed: %v", err)
		}
	}

	// The files that the pages name are there.
	text := read(t, "../docs/FLEET.md") + read(t, "../docs/INSTALL.md") + read(t, "../docs/SECURITY-MODEL.md")
	named := regexp.MustCompile("`((?:users|roles|sentinel|haproxy|before-253|secrets|memory|port|access-log|" +
		"on-failure)\\.[a-z]+)`")
	for _, name := range named.FindAllStringSubmatch(text, -1) {
		_, err := os.Stat(filepath.Join(root, "examples", name[1]))
		if _, ofFleet := os.Stat(filepath.Join(root, "examples/fleet", name[1])); err != nil && ofFleet != nil {
			t.Errorf("the pages name %s, which is not installed", name[1])
		}
	}
}
