package ninepocket_test

import (
	"fmt"
	"go/ast"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// decisionPages is the folder of the decisions.
const decisionPages = "docs/dev/decisions"

var (
	citedDecision = regexp.MustCompile(`[Dd]ecisions?[\s/#*]+(\d+(?:(?:,| and| or| to)[\s/#*]+\d+)*)`)
	replacement   = regexp.MustCompile(`replaced by((?:[ and,]*\[\d+\]\([^)]*\))+)`)
	boldWord      = regexp.MustCompile(`\*\*([^*\n]+?)\.?\*\*`)
	pageHeading   = regexp.MustCompile(`(?m)^#+ +(.+?) *$`)
)

// tracked returns the repository's files with one of the endings, without test data.
func tracked(t *testing.T, endings ...string) (names []string) {
	t.Helper()
	out, err := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Skip("skipped: this is no clone of git")
	}
	for name := range strings.Lines(string(out)) {
		name = strings.TrimSpace(name)
		// A file that is removed and not yet committed is still listed.
		_, err := os.Stat(name)
		if err == nil && slices.Contains(endings, filepath.Ext(name)) && !strings.Contains(name, "testdata/") {
			names = append(names, name)
		}
	}
	return names
}

// pageText returns the text of a file.
func pageText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// decisionNumbers returns the page of each decision.
func decisionNumbers(t *testing.T) map[int]string {
	t.Helper()
	byNumber := map[int]string{}
	anchor := regexp.MustCompile(`(?m)^(?:## |\| <a id=")(\d+)(?:$|"></a>)`)
	for _, name := range tracked(t, ".md") {
		if filepath.Dir(name) != decisionPages || filepath.Base(name) == "README.md" {
			continue
		}

		for _, found := range anchor.FindAllStringSubmatch(pageText(t, name), -1) {
			n, _ := strconv.Atoi(found[1])
			if byNumber[n] != "" {
				t.Errorf("decision %d stands in %s and in %s", n, byNumber[n], name)
			}
			byNumber[n] = filepath.Base(name)
		}
	}
	return byNumber
}

// TestCitedDecisionsExist wants each number that code, scripts and pages cite to be a decision, and pages of
// users and operators to cite none.
func TestCitedDecisionsExist(t *testing.T) {
	known := decisionNumbers(t)
	cited := 0
	endings := []string{".go", ".md", ".sh", ".lua", ".sql", ".yml", ".toml", ".mjs", ".ts", ".qtpl", ".tsv"}
	for _, name := range tracked(t, endings...) {
		if name == "pages_test.go" {
			continue
		}

		for _, found := range citedDecision.FindAllStringSubmatch(pageText(t, name), -1) {
			if filepath.Ext(name) == ".md" && !strings.HasPrefix(name, "docs/dev/") {
				t.Errorf("%s cites %q: only pages of docs/dev and comments do", name, found[0])
			}
			for _, digits := range regexp.MustCompile(`\d+`).FindAllString(found[1], -1) {
				n, _ := strconv.Atoi(digits)
				cited++
				if known[n] == "" {
					t.Errorf("%s cites decision %d, which is on no page of %s", name, n, decisionPages)
				}
			}
		}
	}
	if cited < 300 {
		t.Errorf("only %d citations were found", cited)
	}
}

// TestDecisionsHaveAStatus wants each decision to have its lines and a replaced decision to name its successor,
// on the page where that stands. The index has all of them.
func TestDecisionsHaveAStatus(t *testing.T) {
	known := decisionNumbers(t)
	if len(known) < 323 {
		t.Errorf("there are %d decisions: a number was lost", len(known))
	}

	index := pageText(t, decisionPages+"/README.md")
	for n, page := range known {
		if !strings.Contains(index, fmt.Sprintf("\n| [%d](%s#", n, page)) {
			t.Errorf("the index has no row of decision %d of %s: make generate", n, page)
		}
	}

	link := regexp.MustCompile(`\[(\d+)\]\(([^)#]*)#(\d+|moved)\)`)
	for _, page := range slices.Compact(slices.Sorted(maps.Values(known))) {
		text := pageText(t, decisionPages+"/"+page)
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target := found[2]
			if target == "" {
				target = page
			}
			if n, _ := strconv.Atoi(found[1]); found[3] != "moved" && found[1] != found[3] || known[n] != target {
				t.Errorf("%s: the link %s leads to no decision", page, found[0])
			}
		}

		text, _, _ = strings.Cut(text, "\n## Moved\n")
		for _, part := range strings.Split(text, "\n## ")[1:] {
			title, _, _ := strings.Cut(part, "\n\nStatus: ")
			_, status, found := strings.Cut(part, "\n\nStatus: ")
			status, _, _ = strings.Cut(status, "\n")
			switch {
			case !found:
				t.Errorf("%s: %q has no status", page, title)
			case strings.HasPrefix(status, "replaced") && !replacement.MatchString(status):
				t.Errorf("%s: %q was replaced and names no successor", page, title)
			case !strings.Contains(part, "\n- Choice: "):
				t.Errorf("%s: %q has no choice", page, title)
			}
		}
	}
}

// TestMovedDecisionsArrive wants the page and heading to exist that the row of a moved decision names.
func TestMovedDecisionsArrive(t *testing.T) {
	row := regexp.MustCompile(`(?m)^\| <a id="(\d+)"></a>.* \| → ([\w/-]+)(?:, ([^;|]+?))?(?:;[^|]*)? \|$`)
	moved := 0
	for _, page := range slices.Compact(slices.Sorted(maps.Values(decisionNumbers(t)))) {
		for _, found := range row.FindAllStringSubmatch(pageText(t, decisionPages+"/"+page), -1) {
			moved++
			if fault := citationFault("docs/"+found[2]+".md", found[3]); fault != "" {
				t.Errorf("%s: decision %s: %s", page, found[1], fault)
			}
		}
	}
	if moved < 30 {
		t.Errorf("only %d moved decisions were found", moved)
	}
}

// TestCitedPagesExist wants each page that a Go comment cites to exist, and its heading if the comment names one:
// "docs/API.md, Limits".
func TestCitedPagesExist(t *testing.T) {
	cited := regexp.MustCompile(`(docs/[\w/-]+\.md)(?:, ([A-Z][^()"]*))?`)
	found := 0
	for _, name := range tracked(t, ".go") {
		file, err := parsePage(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}

		for _, group := range file.Comments {
			for _, part := range cited.FindAllStringSubmatch(oneLine(group), -1) {
				found++
				if fault := citationFault(part[1], part[2]); fault != "" {
					t.Errorf("%s: %s", name, fault)
				}
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d citations were found", found)
	}
}

// oneLine returns a comment's text without its line ends.
func oneLine(group *ast.CommentGroup) string {
	return strings.Join(strings.Fields(group.Text()), " ")
}

// citationFault says what is wrong with a citation of a page's heading or bold word. The citation may go on behind it.
func citationFault(page, heading string) string {
	text, err := os.ReadFile(filepath.FromSlash(page))
	if err != nil {
		return page + " does not exist"
	}
	if heading == "" {
		return ""
	}

	titles := pageHeading.FindAllStringSubmatch(string(text), -1)
	titles = append(titles, boldWord.FindAllStringSubmatch(string(text), -1)...)
	for _, found := range titles {
		title := strings.ReplaceAll(found[1], "`", "")
		if strings.HasPrefix(strings.ToLower(heading), strings.ToLower(title)) {
			return ""
		}
	}
	return fmt.Sprintf("%s has no heading at the beginning of %q", page, heading)
}

// TestFuzzTargetsAreInTheTable compares the table of docs/dev/FUZZING.md with the fuzz targets of the code.
func TestFuzzTargetsAreInTheTable(t *testing.T) {
	documented := map[string]bool{}
	name := regexp.MustCompile("`(\\w+)`")
	for _, row := range regexp.MustCompile("(?m)^\\| `([\\w/]+)` \\| ([^|]+) \\|").FindAllStringSubmatch(
		pageText(t, "docs/dev/FUZZING.md"), -1) {
		for _, target := range name.FindAllStringSubmatch(row[2], -1) {
			documented[row[1]+".Fuzz"+target[1]] = true
		}
	}

	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	found := map[string]bool{}
	for _, file := range tracked(t, ".go") {
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, match := range target.FindAllStringSubmatch(pageText(t, file), -1) {
			name := filepath.ToSlash(filepath.Dir(file)) + "." + match[1]
			found[name] = true
			if !documented[name] {
				t.Errorf("docs/dev/FUZZING.md has no row of %s", name)
			}
		}
	}
	for name := range documented {
		if !found[name] {
			t.Errorf("docs/dev/FUZZING.md has a row of %s, which is no target", name)
		}
	}
}

// TestNamedTestsExist wants each test and fuzz target that a page of maintainers names to exist.
func TestNamedTestsExist(t *testing.T) {
	declared := map[string]bool{}
	declaration := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	for _, name := range tracked(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			for _, found := range declaration.FindAllStringSubmatch(pageText(t, name), -1) {
				declared[found[1]] = true
			}
		}
	}

	const example = "TestRevokedKeyIsRefused" // TESTING.md shows it as a good name
	mention := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w+)[/`]")
	named := 0
	for _, page := range tracked(t, ".md") {
		if !strings.HasPrefix(page, "docs/dev/") && page != "CONTRIBUTING.md" {
			continue
		}
		for _, found := range mention.FindAllStringSubmatch(pageText(t, page), -1) {
			named++
			if !declared[found[1]] && found[1] != example {
				t.Errorf("%s names %s, which does not exist", page, found[1])
			}
		}
	}
	if named < 150 {
		t.Errorf("only %d names were found", named)
	}
}

// TestHostileCorpusIsCounted compares the figures of docs/dev/FAULTS.md with the corpus of requests.
func TestHostileCorpusIsCounted(t *testing.T) {
	corpus := pageText(t, "server/testdata/hostile.txt")
	_, rest, _ := strings.Cut(corpus, "# ---- good requests")
	good, _, _ := strings.Cut(rest, "\n# ----")

	figures := fmt.Sprintf("`server/testdata/hostile.txt` has %d cases, and %d of them are good requests",
		strings.Count(corpus, "\n== "), strings.Count(good, "\n== "))
	if !strings.Contains(pageText(t, "docs/dev/FAULTS.md"), figures) {
		t.Errorf("docs/dev/FAULTS.md does not say: %s", figures)
	}
}

// TestBenchmarksAreFresh wants each generated table of measurements to be of the last 14 days and of the last 100
// commits. make release-check sets NINEPOCKET_RELEASE; between releases tables may be older.
func TestBenchmarksAreFresh(t *testing.T) {
	if os.Getenv("NINEPOCKET_RELEASE") == "" {
		t.Skip("skipped: the age of tables, which make release-check looks at")
	}

	stamp := regexp.MustCompile(`(?s)<!-- (\w+) -->\s*(\d{4}-\d\d-\d\d), commit ([0-9a-f]+)(\+?),`)
	const page = "docs/dev/BENCHMARKS.md"
	stamps := stamp.FindAllStringSubmatch(pageText(t, page), -1)
	if len(stamps) < 3 {
		t.Errorf("%s has %d tables with a date and a commit", page, len(stamps))
	}
	for _, found := range stamps {
		name := found[1]
		commit := found[3]
		day, err := time.Parse(time.DateOnly, found[2])
		if err != nil {
			t.Fatal(err)
		}
		if age := time.Since(day); age > 14*24*time.Hour {
			t.Errorf("%s: the table %s is of %s, more than 14 days ago: measure it again", page, name, found[2])
		}
		if found[4] != "" {
			t.Errorf("%s: the table %s is of a changed commit %s", page, name, commit)
		}

		out, err := exec.Command("git", "rev-list", "--count", commit+"..HEAD").Output()
		switch count, _ := strconv.Atoi(strings.TrimSpace(string(out))); {
		case err != nil:
			t.Errorf("%s: the table %s is of commit %s, which this repository lacks", page, name, commit)
		case count > 100:
			t.Errorf("%s: the table %s is %d commits old, more than 100: measure it again", page, name, count)
		}
	}
}
