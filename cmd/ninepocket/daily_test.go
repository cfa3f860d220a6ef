package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ninepocket/internal/disk"
	"ninepocket/internal/feedtest"
	"ninepocket/operate"
)

// configures writes the one file of a house.
func (h *feedStore) configures(more string) (file string) {
	h.t.Helper()
	file = filepath.Join(h.t.TempDir(), "ninepocket.toml")
	text := "store = '" + h.store + "'\n[feed]\ninto = '" + h.into + "'\nurl = '" + h.url +
		"'\ninterval = '0s'\n" + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return file
}

// days runs the day's work, which must end with the code.
func (h *feedStore) days(code int, file string, args ...string) (stdout, stderr string) {
	h.t.Helper()
	var out, errs bytes.Buffer
	args = append([]string{"daily", "--config", file}, args...)
	if got := runPlain(h.t, args, &out, &errs); got != code {
		h.t.Fatalf("daily: exit code %d, want %d\n%s%s", got, code, &out, &errs)
	}
	if code != exitUsage {
		if _, err := os.Stat(filepath.Join(h.into, "current")); err == nil {
			h.recordPrices()
		}
	}
	return out.String(), errs.String()
}

// says wants texts to be in what was printed.
func says(t *testing.T, printed string, want ...string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(printed, text) {
			t.Errorf("%q is not said: %s", text, printed)
		}
	}
}

// TestDaily goes through every end of a day.
func TestDaily(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 12, 6)
	file := h.configures("[guards]\nminimum_cards = 60\n[daily]\nkeep = 3\n")

	// The first day, and the same once more.
	out, _ := h.days(exitOK, file)
	says(t, out, "pulled 12 groups", "published ")
	first := h.current()
	out, _ = h.days(exitOK, file)
	says(t, out, "nothing is new: the feed is still of", "nothing is new: "+first+" is already served")

	h.evening(1, feedtest.Faults{})
	out, _ = h.days(exitOK, file)
	says(t, out, "CHANGE   WHAT", "published ")

	// The feed is down: nothing changes, and the end says so.
	h.evening(2, feedtest.Faults{Down: true})
	out, stderr := h.days(exitFailure, file)
	says(t, out+stderr, "the pull failed", "is already served", "hint: ")

	// A bad day and its repetition are refused with the command that helps.
	h.evening(3, feedtest.Faults{Wrong: []string{"tcgcsv/", "tcgplayer/"}})
	served := h.current()
	for range 2 {
		out, stderr = h.days(exitRefused, file)
		says(t, out+stderr, "was built and refused by prices_moved", "--override prices_moved", "--config "+file)
	}
	if h.current() != served {
		t.Error("a refused day is served")
	}

	// The evening after has all days except those without a source, and the implausible day.
	delete(h.pulled, dayName(3))
	h.evening(4, feedtest.Faults{})
	_, stderr = h.days(exitOK, file)
	says(t, stderr, "the kept day "+dayName(3)+" is left out: 72 of 72 prices moved by more than 60 %",
		"no prices of tcgcsv one-piece, tcgcsv pokemon for 2 days: "+dayName(2)+" to "+dayName(3)+"; with their files ")
	h.hasAllPrices()

	// A day that another command pulled is published without a pull.
	h.evening(5, feedtest.Faults{})
	h.pulls(exitOK)
	h.feed.Set(feedtest.Faults{Down: true})
	out, _ = h.days(exitOK, file, "--no-pull", "--json")
	var report operate.Report
	if err := json.Unmarshal([]byte(out), &struct {
		Published *bool
		New       *bool
	}{&report.Published, &report.New}); err != nil || !report.Published || !report.New {
		t.Errorf("%v: %s", err, out)
	}
	h.hasAllPrices()

	// The guards of the file hold.
	h.evening(6, feedtest.Faults{})
	out, _ = h.days(exitRefused, h.configures("[guards]\nminimum_cards = 1000\n"))
	says(t, out, "refused by minimum_cards")
}

// TestDailyMistakes wants mistakes of the configuration to be reported before anything is done.
func TestDailyMistakes(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 2, 3)
	for more, want := range map[string]string{
		"games = ['chess']\n":                  `"chess"`,
		"[daily]\nsources = ['excel:x']\n":     "excel:x",
		"[daily]\nkeep = -1\n":                 "daily.keep",
		"[guards]\nminimum_cards = -1\n":       "minimum_cards",
		"[daily]\nsources = []\n":              "daily.sources is empty",
		"keep_days = -1\nimage_interval='x'\n": "image_interval",
	} {
		_, stderr := h.days(exitUsage, h.configures(more))
		says(t, stderr, want)
	}

	_, stderr := h.days(exitUsage, h.configures("[daily]\nkeepp = 1\n"))
	says(t, stderr, "unknown key daily.keepp")
	if len(h.feed.Asked()) > 0 {
		t.Error("the feed was asked")
	}
	if _, err := os.Stat(h.store); err == nil {
		t.Error("a store was made")
	}
}

// TestRootsDay has root do the day's work for a store and a feed of another user: nothing that is made
// there prevents that user's next day, publishing or cleaning up.
func TestRootsDay(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("skipped: folders of another user, because only root can make some")
	}
	const user = 65534
	h := newFeedStore(t, 3, 3)
	file := h.configures("[guards]\nminimum_cards = 1\n[daily]\nkeep = 3\n")
	for _, folder := range []string{h.store, h.into} {
		if err := errors.Join(os.MkdirAll(folder, 0o755), os.Chown(folder, user, user)); err != nil {
			t.Fatal(err)
		}
	}
	h.days(exitOK, file)
	h.evening(1, feedtest.Faults{})
	h.days(exitOK, file)
	command(t, "", "snapshot", "hold", h.current(), "--store", h.store)

	seen := map[string]bool{}
	for _, folder := range []string{h.store, h.into} {
		err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := entry.Info()
			if uid, gid, _ := disk.OwnerOf(info); err == nil && (uid != user || gid != user) {
				t.Errorf("%s belongs to %d:%d", path, uid, gid)
			}
			seen[entry.Name()] = true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{
		"DAILY.LOCK", "LOCK", "CURRENT", "manifest", "current", "days", "holds", h.current(),
	} {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestDailyAfterARollback wants the timer to skip a day that was rolled back, on any base, and to
// continue with the next day.
func TestDailyAfterARollback(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 4, 5)
	file := h.configures("[daily]\nkeep = 9\n")
	// An editor has put a byte order mark before it.
	text, err := os.ReadFile(file)
	err = errors.Join(err, os.WriteFile(file, append([]byte("\uFEFF"), text...), 0o600))
	if err != nil {
		t.Fatal(err)
	}

	for day := range 3 {
		h.evening(day, feedtest.Faults{})
		h.days(exitOK, file)
	}
	withdrawn := h.current()
	for range 2 {
		h.does(exitOK, "snapshot", "rollback", "--reason", "a wrong Umbreon")
		served := h.current()
		out, stderr := h.days(exitRefused, file)
		says(t, out+stderr, "is not published: the day was rolled back", "(a wrong Umbreon)", "snapshot publish ")
		if h.current() != served {
			t.Fatal("the day that was rolled back is served again")
		}
	}

	// The command of the hint publishes it, and then nothing is new.
	_, stderr := h.days(exitRefused, file)
	_, command, _ := strings.Cut(stderr, "after all run: ninepocket ")
	h.does(exitOK, strings.Fields(strings.Split(command, " --store")[0])...)
	if cur := h.current(); cur != withdrawn {
		t.Logf("%s was published in the place of %s", cur, withdrawn)
	}
	out, _ := h.days(exitOK, file)
	says(t, out, "is already served")
	h.hasAllPrices()

	h.does(exitOK, "snapshot", "rollback")
	h.evening(3, feedtest.Faults{})
	h.days(exitOK, file)
	h.hasAllPrices()

	// A damaged snapshot was not rolled back for what is in it: the same day is built again.
	h.damages(h.current())
	_, stderr = h.days(exitRefused, file)
	says(t, stderr, "nothing can be built on it", "snapshot rollback")
	h.does(exitOK, "snapshot", "rollback")
	h.days(exitOK, file)
	h.hasAllPrices()
}

// TestDailyAfterALostJournal wants a day that was rolled back to stay unpublished when the record
// of releases is gone or damaged. It does so once, and for days that were rolled back one after
// the other. The next day is published.
func TestDailyAfterALostJournal(t *testing.T) {
	t.Parallel()
	damages := map[string]func([]byte) []byte{
		"gone": nil,
		"one byte": func(text []byte) []byte {
			middle := len(text) / 2
			return slices.Concat(text[:middle], []byte{text[middle] ^ 1}, text[middle+1:])
		},
		"cut short":   func(text []byte) []byte { return text[:len(text)/2] },
		"of before":   func([]byte) []byte { return nil },
		"not damaged": func(text []byte) []byte { return text },
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newFeedStore(t, 20, 50)
			file := h.configures("")
			h.evening(0, feedtest.Faults{})
			h.days(exitOK, file)
			journal := filepath.Join(h.store, "PUBLICATIONS")
			before, err := os.ReadFile(journal)
			for day := 1; day <= 2; day++ {
				h.evening(day, feedtest.Faults{})
				h.days(exitOK, file)
			}

			// The second rollback leaves a pointer that no longer names the newest day.
			for range 2 {
				h.does(exitOK, "snapshot", "rollback", "--reason", "a wrong Umbreon")
				text, bad := os.ReadFile(journal)
				err = errors.Join(err, bad)
				switch {
				case damage == nil:
					err = errors.Join(err, os.Remove(journal))
				case name == "of before":
					err = errors.Join(err, os.WriteFile(journal, before, 0o600))
				default:
					err = errors.Join(err, os.WriteFile(journal, damage(text), 0o600))
				}
				if err != nil {
					t.Fatal(err)
				}

				served := h.current()
				out, stderr := h.days(exitRefused, file, "--no-pull")
				says(t, out+stderr, "is not published: the day was rolled back", "snapshot publish ")
				if name != "not damaged" {
					says(t, stderr, "note: nobody knows what was rolled back", `"PUBLICATIONS"`,
						"counts as rolled back")
				}
				if h.current() != served {
					t.Fatalf("%s is on the air, %s was", h.current(), served)
				}
				// The next rollback asks the journal where to go; one that is lost knows the pointer alone.
				err = os.WriteFile(journal, text, 0o600)
			}

			h.evening(3, feedtest.Faults{})
			h.days(exitOK, file)
			h.hasAllPrices()
		})
	}
}

// TestDailyAfterARemovedSnapshot wants a day that was rolled back, and whose snapshot was then removed, to
// stay off the air when it is built again.
func TestDailyAfterARemovedSnapshot(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 20, 50)
	file := h.configures("")
	for day := range 2 {
		h.evening(day, feedtest.Faults{})
		h.days(exitOK, file)
	}
	bad := h.current()
	h.does(exitOK, "snapshot", "rollback", "--reason", "a wrong Umbreon")
	if err := os.RemoveAll(filepath.Join(h.store, "snapshots", bad)); err != nil {
		t.Fatal(err)
	}

	served := h.current()
	out, stderr := h.days(exitRefused, file, "--no-pull")
	says(t, out+stderr, "is not published: the day was rolled back", "a wrong Umbreon")
	if h.current() != served {
		t.Errorf("%s is on the air, %s was", h.current(), served)
	}

	h.evening(3, feedtest.Faults{})
	h.days(exitOK, file)
}

// damages changes a byte of a snapshot.
func (h *feedStore) damages(id string) {
	h.t.Helper()
	name := filepath.Join(h.store, "snapshots", id, "cards.msgpack.zst")
	text, err := os.ReadFile(name)
	if err == nil {
		text[len(text)/2] ^= 1
		err = os.WriteFile(name, text, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestPruneAsConfigured wants a clean-up by hand to keep what the configuration says.
func TestPruneAsConfigured(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 2, 3)
	for day := range 5 {
		h.evening(day, feedtest.Faults{})
		h.pulls(exitOK)
		h.does(exitOK, "snapshot", "build", "--source", "tcgcsv:"+filepath.Join(h.into, "current"))
	}
	h.does(exitUsage, "snapshot", "prune", "--config", h.configures("[daily]\nkeep = 0\n"))
	out, _ := h.does(exitOK, "snapshot", "prune", "--config", h.configures("[daily]\nkeep = 3\n"))
	says(t, out, "2 snapshots removed")
	out, _ = h.does(exitOK, "snapshot", "prune", "--keep", "1", "--config", h.configures("[daily]\nkeep = 3\n"))
	says(t, out, "2 snapshots removed")
}

// TestBuildFindsPictures wants a card's picture to be found by the feed's own number.
func TestBuildFindsPictures(t *testing.T) {
	t.Parallel()
	h := newFeedStore(t, 2, 3)
	h.pulls(exitOK)
	images := t.TempDir()
	for _, name := range []string{"101000.jpg", "101001.webp"} {
		if err := os.WriteFile(filepath.Join(images, name), []byte(feedtest.Picture), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h.does(exitOK, "snapshot", "build", "--source", "tcgcsv:"+filepath.Join(h.into, "current"), "--images", images,
		"--publish")

	c := h.catalog()
	rows := products(c)
	for product, want := range map[int]string{101000: "101000.jpg", 101001: "101001.webp", 101002: "101002.jpg"} {
		if got := c.Cards.Image.At(rows[product]); got != want {
			t.Errorf("the image of %d is %q, want %q", product, got, want)
		}
	}

	_, stderr := h.does(exitFailure, "snapshot", "build", "--source", "tcgcsv:"+filepath.Join(h.into, "current"),
		"--images", filepath.Join(images, "typo"))
	says(t, stderr, "cannot read the folder of pictures")
}

// TestShellWords wants a shell to read quoted text unchanged.
func TestShellWords(t *testing.T) {
	t.Parallel()
	words := []string{"store", "my feed/current", "it's", "$HOME", "a;b", "", "tcgcsv:2026-08-22.tar.zst"}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\n' `+shellWords(words)).Output()
	if got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"); err != nil || !slices.Equal(got, words) {
		t.Errorf("the shell reads %q: %v", got, err)
	}
}
