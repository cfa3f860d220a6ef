package server

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"ninepocket/engine"
	"ninepocket/internal/testsweep"
	"ninepocket/site"
	"ninepocket/wire"
)

// scan is a picture like that of a card: patches of colour with the grain of print.
func scan(tb testing.TB, seed uint64) []byte {
	tb.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	picture := image.NewRGBA(image.Rect(0, 0, 245, 342))
	for y := range 342 {
		for x := range 245 {
			patch := uint64(x/37*19+y/31) * (seed*2 + 3)
			grain := r.IntN(25)
			picture.SetRGBA(x, y, color.RGBA{
				R: uint8(patch*53%200) + uint8(grain), G: uint8(patch*31%200) + uint8(grain),
				B: uint8(patch*17%200) + uint8(grain), A: 255,
			})
		}
	}

	var out bytes.Buffer
	if err := jpeg.Encode(&out, picture, &jpeg.Options{Quality: 92}); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// smallWorld is a world with a picture of each card that has a name for one.
func smallWorld(t *testing.T) (w *world, dir string, images *Images) {
	t.Helper()
	dir = t.TempDir()
	v := small().view
	pictures := [][]byte{scan(t, 1), scan(t, 2), scan(t, 3)}
	for card := range v.Catalog.Cards.ID.Len() {
		file := v.Catalog.Cards.Image.At(card)
		if file == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, file), pictures[card%len(pictures)], 0o600); err != nil {
			t.Fatal(err)
		}
	}

	images, err := OpenImages(dir)
	if err == nil {
		err = images.EnableThumbnails(filepath.Join(t.TempDir(), "small"))
	}
	if err != nil {
		t.Fatal(err)
	}
	images.thumbnails.wait = 2 * time.Minute
	has, err := images.List()
	if err != nil {
		t.Fatal(err)
	}

	view, err := engine.NewView(v.Catalog, wire.URLs{
		URL: baseURL, Images: baseURL + "/images/", HasImage: has, ProductPrefix: "prd",
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := site.New(site.Options{BaseURL: baseURL, Version: images.Version})
	if err != nil {
		t.Fatal(err)
	}
	return siteWorld(t, func(s *setup) {
		s.views = []*engine.View{view}
		all := s.options
		s.options = func(o *Options) { all(o); o.Images = images; o.Pages = pages }
	}), dir, images
}

var smallPattern = regexp.MustCompile(`src="(/small/[^"]+)"`)

// TestThumbnails asks for the small copies that a list shows, several at a time, and again from
// what is kept.
func TestThumbnails(t *testing.T) {
	w, dir, images := smallWorld(t)
	page := w.page(t, "/movers")
	shown := smallPattern.FindAllSubmatch(page.body, -1)
	if len(shown) < 20 {
		t.Fatalf("a list shows %d small pictures", len(shown))
	}

	first := map[string]string{}
	var lock sync.Mutex
	var group errgroup.Group
	group.SetLimit(4) // on a slow machine, more would wait for longer than a visitor does
	sum := 0
	for i, m := range shown {
		if i%testsweep.Stride(3) != 0 { // to make one takes long under the race detector
			continue
		}
		group.Go(func() error {
			r := w.page(t, string(m[1]))
			picture, kind, err := image.Decode(bytes.NewReader(r.body))
			if err != nil || kind != "jpeg" || picture.Bounds().Dx() != 96 || r.status != http.StatusOK ||
				r.header.Get("Cache-Control") != assetCache || r.header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: status %d, %s, %v", m[1], r.status, kind, err)
				return nil
			}
			lock.Lock()
			defer lock.Unlock()
			first[string(m[1])] = string(r.body)
			sum += len(r.body)
			return nil
		})
	}
	_ = group.Wait() // none fails

	const limit = 300 << 10
	list := len(page.wire)*50/len(shown) + sum*50/max(len(first), 1)
	if list > limit {
		t.Errorf("a list of 50 moves %d bytes, more than %d", list, limit)
	}
	t.Logf("a list of %d takes %d bytes, %d of its pictures %d", len(shown), len(page.wire), len(first), sum)
	for target, body := range first {
		if again := w.page(t, target); string(again.body) != body {
			t.Errorf("%s is another picture the second time", target)
		}
	}

	// A picture that is replaced has another name, and its old copy leaves.
	target := string(shown[0][1])
	_, file, _ := strings.Cut(strings.TrimPrefix(target, "/small/r-"), "-")
	if err := os.WriteFile(filepath.Join(dir, file), scan(t, 9), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := images.List(); err != nil {
		t.Fatal(err)
	}
	moved := w.page(t, target)
	if moved.status != http.StatusFound || moved.header.Get("Location") == target {
		t.Errorf("a name of a replaced picture: status %d to %s", moved.status, moved.header.Get("Location"))
	}
	if r := w.page(t, moved.header.Get("Location")); r.status != http.StatusOK || string(r.body) == first[target] {
		t.Errorf("the replaced picture: status %d", r.status)
	}
}

// TestWidthsOfPictures wants copies of the widths that pockets and card pages show.
func TestWidthsOfPictures(t *testing.T) {
	w, _, _ := smallWorld(t)
	f := func(page, pattern string, width int) {
		t.Helper()
		m := regexp.MustCompile(pattern).FindSubmatch(w.page(t, page).body)
		if m == nil {
			t.Fatalf("%s shows no picture like %s", page, pattern)
		}
		r := w.page(t, string(m[1]))
		if about, _, err := image.DecodeConfig(bytes.NewReader(r.body)); err != nil || about.Width != width {
			t.Errorf("%s on %s is %d wide, want %d: %v", m[1], page, about.Width, width, err)
		}
	}

	f("/search", `srcset="(/small/m-[^" ]+) 220w, `, 220)
	f("/search", `220w, (/small/p-[^" ]+) 300w"`, 245) // as wide as the whole picture
	c := w.view0().Catalog
	for card := range c.Cards.ID.Len() {
		if c.Cards.Image.At(card) != "" {
			f("/cards/"+c.Cards.Slug.At(card), `<a href="/images/[^"]+"><img src="(/small/c-[^"]+)"`, 245)
			return
		}
	}
}

// TestSmallPicturesOfWhatIsNone wants the whole picture where no small one can be made, and nothing for names that are
// none.
func TestSmallPicturesOfWhatIsNone(t *testing.T) {
	w, dir, images := smallWorld(t)
	bomb := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\x02\x00\x00\x00"),
		make([]byte, 10<<10)...)
	for name, content := range map[string][]byte{
		"broken.jpg": bytes.Repeat([]byte("no picture"), 2000), "bomb.png": bomb, "tiny.png": []byte("tiny"),
		"new.avif": make([]byte, 20<<10),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := images.List(); err != nil {
		t.Fatal(err)
	}

	for name := range map[string]bool{"broken.jpg": true, "bomb.png": true} {
		target := fmt.Sprintf("/small/p-%s-%s", images.Version(name), name)
		if r := w.page(t, target); r.status != http.StatusFound || r.header.Get("Location") != "/images/"+name {
			t.Errorf("%s: status %d to %q", name, r.status, r.header.Get("Location"))
		}
	}
	if images.Version("tiny.png") != "" || images.Version("new.avif") != "" {
		t.Error("small copies are promised of what has none")
	}
	for _, name := range []string{
		"x", "r-1", "q-1-tiny.png", "r-1-..%2f..%2fetc.png", "r--.png", "r-1-%00.png", "r-1-a.svg",
	} {
		if r := w.page(t, "/small/"+name); r.status != http.StatusNotFound {
			t.Errorf("%s: status %d to %s", name, r.status, r.header.Get("Location"))
		}
	}
	if r := w.page(t, "/small/r-1-missing.png"); r.status != http.StatusFound ||
		w.page(t, r.header.Get("Location")).status != http.StatusNotFound {
		t.Errorf("a picture that is not there: %d", r.status)
	}
}

// TestSmallCopiesAloneAreRemoved has foreign files in the folder of small pictures: only unused
// copies are removed.
func TestSmallCopiesAloneAreRemoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"holiday.jpg", "r-notes.txt", "42382.jpg", "r-1abc-2def.jpg", "p-1-2.jpg.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	images, err := OpenImages(t.TempDir())
	if err == nil {
		err = images.EnableThumbnails(dir)
	}
	if err == nil {
		_, err = images.List()
	}
	if err != nil {
		t.Fatal(err)
	}

	left, err := filepath.Glob(filepath.Join(dir, "*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	if want := []string{"42382.jpg", "holiday.jpg", "r-notes.txt"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("the folder has %v, want %v: %v", left, want, err)
	}
}
