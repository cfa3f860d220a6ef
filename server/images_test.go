package server

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ninepocket/engine"
	"ninepocket/wire"
)

// TestImages serves a folder and hides everything in it that is not an image.
func TestImages(t *testing.T) {
	dir := t.TempDir()
	outside := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const picture = "RIFF....WEBPVP8 pretend"
	v := small().view
	known := ""
	for card := range v.Catalog.Cards.ID.Len() {
		if file := v.Catalog.Cards.Image.At(card); file != "" {
			known = file
			break
		}
	}

	for _, name := range []string{known, "a b+c.PNG", "link-target.jpg"} {
		write(filepath.Join(dir, name), picture)
	}
	for _, name := range []string{"x.svg", "x.html", "notes.txt", ".hidden.png", "plain"} {
		write(filepath.Join(dir, name), "<script>")
	}

	write(filepath.Join(outside, "secret.png"), "secret")
	if err := os.Mkdir(filepath.Join(dir, "folder.png"), 0o700); err != nil {
		t.Fatal(err)
	}

	for name, to := range map[string]string{
		"out.png": filepath.Join(outside, "secret.png"),
		"in.png":  "link-target.jpg", "gone.png": "nothing.png",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}

	images, err := OpenImages(dir)
	if err != nil {
		t.Fatal(err)
	}

	has, err := images.List()
	if err != nil {
		t.Fatal(err)
	}

	// Servers compare their folders by it.
	before := images.ListHash()
	write(filepath.Join(dir, "one-more.png"), picture)
	if _, err := images.List(); err != nil || images.ListHash() == before {
		t.Errorf("with one more image it is %s still, %v", before, err)
	}
	write(filepath.Join(dir, "no-image.txt"), picture)
	after := images.ListHash()
	if _, err := images.List(); err != nil || images.ListHash() != after {
		t.Errorf("with a file that is no image it is %s instead of %s, %v", images.ListHash(), after, err)
	}

	view, err := engine.NewView(v.Catalog, wire.URLs{
		URL: baseURL, Images: baseURL + "/images/", HasImage: has,
		ProductPrefix: "prd",
	})
	if err != nil {
		t.Fatal(err)
	}

	w := siteWorld(t, func(s *setup) {
		s.views = []*engine.View{view}
		pages := s.options
		s.options = func(o *Options) { pages(o); o.Images = images }
	})
	for name, media := range map[string]string{
		known: "image/webp", "a%20b+c.PNG": "image/png",
		"link-target.jpg": "image/jpeg", "in.png": "image/png",
	} {
		r := w.page(t, "/images/"+name)
		if r.status != http.StatusOK || r.header.Get("Content-Type") != media || string(r.body) != picture ||
			r.header.Get("X-Content-Type-Options") != "nosniff" ||
			r.header.Get("Cache-Control") != imageCache {
			t.Errorf("%s: status %d, %v", name, r.status, r.header)
		}
		if again := w.page(t, "/images/"+name,
			"If-None-Match: "+r.header.Get("ETag")); again.status != http.StatusNotModified {
			t.Errorf("%s again: status %d", name, again.status)
		}
		head, err := w.send(request{method: "HEAD", target: "/images/" + name})
		if err != nil || head.status != http.StatusOK || head.header.Get("Content-Length") != fmt.Sprint(len(picture)) {
			t.Errorf("HEAD %s: %d %v %v", name, head.status, head.header, err)
		}
	}

	for _, name := range []string{
		"x.svg", "x.html", "notes.txt", ".hidden.png", "plain", "folder.png", "out.png", "gone.png", "missing.png",
		"..", "%2e%2e%2fsecret.png",
		"..%2f" + filepath.Base(outside) + "%2fsecret.png", "a%5Cb.png", "%00.png", "", ".png",
		strings.ReplaceAll(known, ".", "%00."),
	} {
		if r := w.page(t, "/images/"+name); r.status != http.StatusNotFound {
			t.Errorf("%q: status %d %q", name, r.status, r.body)
		}
		if decodedName := strings.ReplaceAll(name, "%20", " "); has(decodedName) {
			t.Errorf("%q is listed", name)
		}
	}

	with := 0
	without := 0
	for card := range v.Catalog.Cards.ID.Len() {
		var detail struct {
			Image *string `json:"image_url"`
		}
		r := w.get(t, "/v1/cards/"+v.Catalog.Cards.ID.At(card))
		r.decode(t, &detail)
		switch file := v.Catalog.Cards.Image.At(card); {
		case file == known && (detail.Image == nil || *detail.Image != baseURL+"/images/"+file):
			t.Errorf("image_url of %s is %v", file, detail.Image)
		case file == known:
			with++
			page := string(w.page(t, "/cards/"+v.Catalog.Cards.Slug.At(card)).body)
			if !strings.Contains(page, `<img src="/images/`+file+`"`) ||
				!strings.Contains(page, `property="og:image" content="`+baseURL+"/images/"+file+`"`) {
				t.Errorf("the page does not show %s", file)
			}
		case detail.Image != nil:
			t.Errorf("image_url of a file that is not there is %q", *detail.Image)
		default:
			without++
		}
		if card > 200 && with > 0 {
			break
		}
	}

	if with == 0 || without == 0 {
		t.Errorf("%d cards with and %d without an image", with, without)
	}
}
