package feed_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

// direct is a network that leads every host to the fake feed.
type direct struct{ feed *feedtest.Feed }

func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	d.feed.ServeHTTP(answer, request)
	return answer.Result(), nil //nolint:bodyclose // the caller closes it
}

// newDirectStand is a stand without a network, for tests in virtual time.
func newDirectStand(t *testing.T, groups, perGroup int) *stand {
	t.Helper()
	f := feedtest.New(groups, perGroup, time.Now())
	return &stand{t, f, feed.Options{
		Into: t.TempDir(), URL: "https://feed.example.com", UserAgent: "test", Now: time.Now,
		Interval: feed.DefaultInterval, ImageInterval: feed.DefaultImageInterval,
		Client: &http.Client{Transport: direct{f}},
	}}
}

// TestPictures fetches each picture once, under the name that a build looks for. Pictures that
// never exist do not delay the others.
func TestPictures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDirectStand(t, 4, 10)
		s.o.Images = filepath.Join(s.o.Into, "images")
		var lost []string
		for n := range 22 {
			lost = append(lost, feedtest.PicturePath(feedtest.Product(n/10, n%10)))
		}
		s.feed.Set(feedtest.Faults{Lost: lost})

		// The first pictures are refused, so the host is not asked again; the next pull begins with the others.
		if first := s.pull(); first.Images != 0 || first.NoImages != 40 || first.Requests != 2+2+2*4+21 {
			t.Errorf("the first pull: %+v", first)
		}
		if second := s.pull(); second.Images != 18 || second.NoImages != 22 {
			t.Errorf("the second pull: %+v", second)
		}
		for g := range 4 {
			for c := range 10 {
				product := feedtest.Product(g, c)
				got, _ := os.ReadFile(filepath.Join(s.o.Images, strconv.Itoa(product)+".jpg"))
				want := feedtest.Picture + feedtest.PicturePath(product)
				if g*10+c < 22 {
					want = ""
				}
				if string(got) != want {
					t.Errorf("the picture of %d is %q, want %q", product, got, want)
				}
			}
		}

		// They came after all, and no other file is requested.
		s.feed.Set(feedtest.Faults{})
		third := s.pull()
		if asked := len(s.feed.Asked()); third.Images != 22 || third.NoImages != 0 || asked != 1+22 {
			t.Errorf("the third pull: %+v after %d requests", third, asked)
		}
	})
}

// TestNoPicture checks that a page in place of a picture is not accepted as a picture.
func TestNoPicture(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDirectStand(t, 2, 2)
		s.o.Images = filepath.Join(s.o.Into, "images")
		s.feed.Set(feedtest.Faults{Page: []string{"product/"}})
		if result := s.pull(); result.Images != 0 || result.NoImages != 4 {
			t.Errorf("pages were taken for pictures: %+v", result)
		}
		s.whole()
	})
}

// TestAskedToWait has the feed answer 429 for some time, with and without a Retry-After header. A
// pull obeys within bounds, and such a refused file is not missing.
func TestAskedToWait(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		busy  time.Duration
		after int
		asks  int // at most, and nothing is pulled; 0 means that a whole feed directory is pulled
	}{
		{"for an hour", time.Hour, 600, 0},
		{"for an hour, a second at a time", time.Hour, 1, 0},
		{"without a wish", time.Hour, 0, 5},
		{"for a day", 24 * time.Hour, 86_400, 1},
		{"for a day, ten minutes at a time", 24 * time.Hour, 600, 10},
		{"for a day, a second at a time", 24 * time.Hour, 1, 13},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newDirectStand(t, 2, 3)
			began := time.Now()
			s.feed.Set(feedtest.Faults{BusyUntil: began.Add(c.busy), After: c.after})
			if c.asks > 0 {
				s.fails(feed.ErrRateLimited)
				if asked := len(s.feed.Asked()); asked > c.asks || s.stamp() != "" {
					t.Errorf("%s: asked %d times, want %d at most", c.name, asked, c.asks)
				}
				if took := time.Since(began); took > 91*time.Minute {
					t.Errorf("%s: gave up after %s", c.name, took)
				}
				return
			}

			result := s.pull()
			if took := time.Since(began); !result.New || len(result.Missing) > 0 || took < c.busy || took > 2*c.busy {
				t.Errorf("%s: pulled after %s: %+v", c.name, took, result)
			}
			if asked := len(s.feed.Asked()); asked > 2+2+2*2+16 {
				t.Errorf("%s: asked %d times", c.name, asked)
			}
			s.whole()
		})
	}
}

// TestPicturesAskedToWait checks that the waits of both hosts share one bound. After an hour for the
// feed, pictures that need another hour are left for the next pull.
func TestPicturesAskedToWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDirectStand(t, 2, 3)
		s.o.Images = filepath.Join(s.o.Into, "images")
		began := time.Now()
		s.feed.Set(feedtest.Faults{BusyUntil: began.Add(time.Hour), After: 600})
		s.o.Progress = func(phase string, done, _ int64) {
			if phase == "fetching pictures" && done == 0 {
				s.feed.Set(feedtest.Faults{BusyUntil: time.Now().Add(time.Hour), After: 600})
			}
		}

		result := s.pull()
		if took := time.Since(began); !result.New || result.Images != 0 || took > 91*time.Minute {
			t.Errorf("pulled after %s: %+v", took, result)
		}
		s.whole()
	})
}

// TestBusyInTheMiddle checks that a pull ends at once if the feed refuses half-way, and that a later pull resumes it.
func TestBusyInTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDirectStand(t, 12, 3)
		s.o.Progress = func(_ string, done, _ int64) {
			if done == 6 {
				s.feed.Set(feedtest.Faults{BusyUntil: time.Now().Add(24 * time.Hour)})
			}
		}
		s.fails(feed.ErrRateLimited)
		if asked := len(s.feed.Asked()); asked != 5 {
			t.Errorf("a feed that refuses was asked %d times", asked)
		}

		s.o.Progress = nil
		s.feed.Set(feedtest.Faults{})
		if result := s.pull(); result.Resumed != 2+12 || !result.New {
			t.Errorf("the next pull: %+v", result)
		}
		s.whole()
	})
}
