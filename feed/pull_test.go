package feed_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

var evening = time.Date(2026, 8, 22, 20, 5, 33, 0, time.UTC)

// stand is a fake feed and the folder of its pulls.
type stand struct {
	t    *testing.T
	feed *feedtest.Feed
	o    feed.Options
}

func newStand(t *testing.T, groups int) *stand {
	t.Helper()
	t.Parallel()
	f := feedtest.New(groups, 3, evening)
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return &stand{t, f, feed.Options{
		Into: t.TempDir(), URL: server.URL, UserAgent: "test (me@example.com)", Now: time.Now, Client: server.Client(),
	}}
}

// pull pulls and checks that it succeeds.
func (s *stand) pull() *feed.Result {
	s.t.Helper()
	result, err := feed.Pull(s.t.Context(), s.o)
	if err != nil {
		s.t.Fatal(err)
	}
	return result
}

// fails pulls and checks for a kind of error.
func (s *stand) fails(want error) *feed.Result {
	s.t.Helper()
	result, err := feed.Pull(s.t.Context(), s.o)
	if !errors.Is(err, want) {
		s.t.Fatalf("pull ended with %v, want %v", err, want)
	}
	return result
}

// stamp is the time of the current feed directory, "" without one.
func (s *stand) stamp() string {
	text, _ := os.ReadFile(filepath.Join(s.o.Into, "current", "last-updated.txt"))
	return string(text)
}

// whole checks that the current feed directory has exactly the feed's files, except for the given paths.
func (s *stand) whole(but ...string) {
	s.t.Helper()
	s.feed.Set(feedtest.Faults{})
	defer s.feed.Set(feedtest.Faults{})
	root := filepath.Join(s.o.Into, "current")
	for g := range s.feed.Groups {
		for _, file := range []string{"products", "prices"} {
			path := feedtest.Path(g, file)
			got, err := os.ReadFile(filepath.Join(root, path))
			if slices.Contains(but, path) {
				if err == nil {
					s.t.Errorf("%s is there", path)
				}
				continue
			}

			answer := httptest.NewRecorder()
			s.feed.ServeHTTP(answer, httptest.NewRequestWithContext(s.t.Context(), "GET", "/"+path, http.NoBody))
			if want := answer.Body.Bytes(); err != nil || !bytes.Equal(got, want) {
				s.t.Errorf("%s: %d bytes, %v; the feed has %d", path, len(got), err, len(want))
			}
		}
	}
}

// TestPull makes a first pull, a pull without anything new, and the pull of the next day.
func TestPull(t *testing.T) {
	s := newStand(t, 12)
	first := s.pull()
	if !first.New || first.Day != "2026-08-22" || first.Groups != 12 || len(first.Missing) > 0 || first.Retries > 0 {
		t.Errorf("the first pull: %+v", first)
	}
	s.whole()

	again := s.pull()
	asked := s.feed.Asked()
	if again.New || len(asked) != 1 || asked[0].Path != "last-updated.txt" {
		t.Errorf("a pull without anything new: %+v, asked %v", again, asked)
	}
	if asked[0].Agent != s.o.UserAgent {
		t.Errorf("the user agent is %q", asked[0].Agent)
	}

	for range 3 {
		s.feed.Rebuild(s.feed.At().AddDate(0, 0, 1))
		if !s.pull().New {
			t.Error("another day is not new")
		}
		s.whole()
	}
	days, err := feed.Days(filepath.Join(s.o.Into, "days"))
	want := []string{"2026-08-22", "2026-08-23", "2026-08-24", "2026-08-25"}
	if err != nil || !slices.Equal(days, want) {
		t.Errorf("kept days are %v (%v), want %v", days, err, want)
	}
	trees, _ := os.ReadDir(filepath.Join(s.o.Into, "trees"))
	if len(trees) != 2 {
		t.Errorf("%d trees stay, want 2", len(trees))
	}
}

// TestPullIsPolite checks the times between requests.
func TestPullIsPolite(t *testing.T) {
	s := newStand(t, 2)
	s.o.Interval = 5 * time.Millisecond
	s.pull()
	asked := s.feed.Asked()
	if len(asked) != 2+2+2*2 {
		t.Errorf("%d requests for two groups of two games", len(asked))
	}
	for i := 1; i < len(asked); i++ {
		if apart := asked[i].At.Sub(asked[i-1].At); apart < s.o.Interval {
			t.Errorf("%s came %s after the request before", asked[i].Path, apart)
		}
	}
}

// TestPullThroughWeather has the feed fail in every temporary way.
func TestPullThroughWeather(t *testing.T) {
	for name, weather := range map[string]feedtest.Faults{
		"slow":           {Slow: time.Millisecond},
		"429":            {Busy: 2},
		"503":            {Broken: 3},
		"429 and 503":    {Busy: 1, Broken: 2},
		"rebuilt in it":  {RebuildAfter: 6},
		"rebuilt at end": {RebuildAfter: 2 + 4 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, 2)
			s.feed.Set(weather)

			result := s.pull()
			if !result.New || len(result.Missing) > 0 {
				t.Errorf("%+v", result)
			}
			if failing := weather.Busy+weather.Broken > 0; failing != (result.Retries > 0) {
				t.Errorf("%d retries", result.Retries)
			}
			if want := s.feed.At().UTC().Format("2006-01-02T15:04:05-0700"); s.stamp() != want {
				t.Errorf("current is of %q, the feed of %q", s.stamp(), want)
			}
			s.whole()
		})
	}
}

// TestRetryAfter checks that a pull waits as long as the feed asks.
func TestRetryAfter(t *testing.T) {
	s := newStand(t, 1)
	s.o.Games = []string{"pokemon"}
	s.feed.Set(feedtest.Faults{Lost: []string{feedtest.Path(0, "prices")}})
	s.pull()
	s.feed.Set(feedtest.Faults{Busy: 1, After: 1, Lost: []string{"tcgplayer/3/101/"}})
	began := time.Now()
	s.pull()
	// last-updated.txt once, and the group's file.
	if took := time.Since(began); took < 2*time.Second {
		t.Errorf("two requests that asked to wait for a second each took %s", took)
	}
}

// TestHalfATree checks that an incomplete feed directory leaves current unchanged, and that the next pull resumes it.
func TestHalfATree(t *testing.T) {
	for name, weather := range map[string]feedtest.Faults{
		"two groups":     {Lost: []string{feedtest.Path(1, "prices"), feedtest.Path(6, "products")}},
		"a category":     {Lost: []string{"tcgplayer/68/"}},
		"error pages":    {Page: []string{feedtest.Path(1, "prices"), feedtest.Path(2, "prices")}},
		"answers cut":    {Cut: []string{feedtest.Path(1, "prices"), feedtest.Path(2, "prices")}},
		"groups missing": {Lost: []string{"tcgplayer/3/groups"}},
		"groups empty":   {Page: []string{"tcgplayer/3/groups"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStand(t, 12)
			s.pull()
			before := s.stamp()
			s.feed.Rebuild(evening.AddDate(0, 0, 1))
			s.feed.Set(weather)
			want := feed.ErrIncomplete
			if strings.HasPrefix(name, "groups") || name == "a category" {
				want = feed.ErrBadResponse
			}
			s.fails(want)

			if s.stamp() != before {
				t.Errorf("half a tree moved current to %q", s.stamp())
			}
			if _, err := os.Stat(feed.DayFile(s.o.Into, "2026-08-23")); err == nil {
				t.Error("half a tree has a day file")
			}

			s.feed.Set(feedtest.Faults{})
			if !s.pull().New {
				t.Error("a whole tree is not new")
			}
			s.whole()
		})
	}
}

// TestLostGroup checks that one missing group is reported and left out, and that the next pull fetches it.
func TestLostGroup(t *testing.T) {
	s := newStand(t, 12)
	s.pull()
	s.feed.Rebuild(evening.AddDate(0, 0, 1))
	lost := []string{feedtest.Path(4, "products"), feedtest.Path(4, "prices")}
	s.feed.Set(feedtest.Faults{Lost: lost})
	result := s.pull()
	if !result.New || len(result.Missing) != 2 || result.Missing[0].Group != "105" || !result.Missing[0].UsedPrevious ||
		result.Missing[1].File != "prices" || result.Missing[1].Name != "Set E" {
		t.Errorf("%+v", result)
	}
	// Products come from the previous day.
	s.whole(lost[1])

	s.feed.Set(feedtest.Faults{Lost: lost})
	if again := s.pull(); again.New || len(again.Missing) != 2 || len(s.feed.Asked()) > 4 {
		t.Errorf("the group is still lost: %+v after %v", again, s.feed.Asked())
	}
	s.feed.Set(feedtest.Faults{})
	completed := s.pull()
	if !completed.New || len(completed.Missing) > 0 || len(s.feed.Asked()) != 4 {
		t.Errorf("the group came: %+v after %v", completed, s.feed.Asked())
	}
	s.whole()
}

// TestResumed ends a pull half-way and checks that the next pull requests only the rest.
func TestResumed(t *testing.T) {
	s := newStand(t, 12)
	s.o.Interval = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	options := s.o
	options.Progress = func(_ string, done, _ int64) {
		if done == 6 {
			cancel()
		}
	}
	if _, err := feed.Pull(ctx, options); !errors.Is(err, context.Canceled) {
		t.Fatalf("a pull that was ended: %v", err)
	}
	if s.stamp() != "" {
		t.Error("a pull that was ended has a current tree")
	}

	s.feed.Set(feedtest.Faults{})
	result := s.pull()
	if asked := len(s.feed.Asked()); result.Resumed != 2+12 || asked != 2+12 {
		t.Errorf("%d files were resumed and %d requests made: %+v", result.Resumed, asked, result)
	}
	s.whole()
}

// TestRebuiltForEver checks that a pull gives up if the feed is rebuilt in every attempt.
func TestRebuiltForEver(t *testing.T) {
	s := newStand(t, 2)
	s.o.Progress = func(_ string, done, _ int64) {
		if done == 1 {
			s.feed.Rebuild(s.feed.At().Add(time.Minute))
		}
	}
	s.fails(feed.ErrFeedRebuilt)
	if s.stamp() != "" {
		t.Error("a tree of two builds became current")
	}
}

// TestFeedDown checks that a pull reports an unreachable feed and changes nothing.
func TestFeedDown(t *testing.T) {
	s := newStand(t, 2)
	s.feed.Set(feedtest.Faults{Down: true})
	s.fails(feed.ErrBadResponse)
	if n := len(s.feed.Asked()); n != 5 {
		t.Errorf("%d attempts", n)
	}
}

// TestSecondPull checks that only one pull runs at a time.
func TestSecondPull(t *testing.T) {
	s := newStand(t, 2)
	options := s.o
	options.Progress = func(string, int64, int64) { s.fails(feed.ErrBusy) }
	if _, err := feed.Pull(t.Context(), options); err != nil {
		t.Fatal(err)
	}
}

// TestDayFiles checks that old days go and that the file of a day with two feed directories has all groups.
func TestDayFiles(t *testing.T) {
	s := newStand(t, 4)
	s.o.ArchiveDays = 2
	s.pull()
	morning := size(t, feed.DayFile(s.o.Into, "2026-08-22"))
	s.feed.Rebuild(evening.Add(time.Hour))
	s.feed.Set(feedtest.Faults{
		Lost: []string{feedtest.Path(2, "prices")}, Empty: []string{feedtest.Path(1, "prices")},
	})
	s.pull()
	if now := size(t, feed.DayFile(s.o.Into, "2026-08-22")); now < morning-20 {
		t.Errorf("the day's file lost a group: %d bytes after %d", now, morning)
	}

	s.feed.Set(feedtest.Faults{})
	for day := range 3 {
		s.feed.Rebuild(evening.AddDate(0, 0, 1+day))
		s.pull()
	}
	days, _ := feed.Days(filepath.Join(s.o.Into, "days"))
	if !slices.Equal(days, []string{"2026-08-24", "2026-08-25"}) {
		t.Errorf("kept days are %v", days)
	}

	// A day's archive file that was removed is packed again from the feed directory.
	if err := os.Remove(feed.DayFile(s.o.Into, "2026-08-25")); err != nil {
		t.Fatal(err)
	}
	if s.pull().New {
		t.Error("packing a day again is nothing new")
	}
	size(t, feed.DayFile(s.o.Into, "2026-08-25"))
}

func size(t *testing.T, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// TestBadOptions checks that all wrong options are reported at once, before a request is made.
func TestBadOptions(t *testing.T) {
	_, err := feed.Pull(t.Context(), feed.Options{Games: []string{"chess"}, UserAgent: "a\nb", ArchiveDays: -1})
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, want := range []string{"directory", "interval of 0s", "below 0", "user agent", `"chess"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not tell of %s", err, want)
		}
	}
}

// TestNothingHalfWritten checks that no file of a feed directory is incomplete, whenever a pull ends.
func TestNothingHalfWritten(t *testing.T) {
	s := newStand(t, 3)
	s.feed.Set(feedtest.Faults{
		Cut: []string{feedtest.Path(0, "products")}, Lost: []string{feedtest.Path(1, "prices")},
	})
	s.fails(feed.ErrIncomplete)
	err := filepath.WalkDir(s.o.Into, func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".part") || strings.HasSuffix(name, feedtest.Path(0, "products")) {
			t.Errorf("%s is there", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
