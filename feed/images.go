package feed

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// picturesPerPull bounds the pictures of one pull: a catalog of them comes in some days, and no host
// is asked for tens of thousands at once.
const picturesPerPull = 2000

// picture is a product with an address of its picture.
type picture struct {
	ID  json.Number `json:"productId"`
	URL string      `json:"imageUrl"`
}

// pictures fetches the pictures that the folder does not have, as PRODUCT.jpg. One that cannot be
// had is asked for again by the next pull.
func (p *pull) pictures(ctx context.Context) error {
	missing, err := p.missingPictures()
	if err != nil {
		return err
	}
	// Pictures come from another host, at a rate of their own.
	from := fetcher{client: p.client, agent: p.agent, interval: p.ImageInterval, now: p.now}
	failed := 0
	for i, pic := range missing[:min(len(missing), picturesPerPull)] {
		p.progress("fetching pictures", i, len(missing))
		body, err := from.get(ctx, pic.URL, wholePicture)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			failed++
			// A host that refuses is not asked two thousand times.
			if failed > 20 && failed > i/2 {
				p.note("pictures are left for the next pull: %s: %v", pic.URL, err)
				p.result.NoImages = len(missing) - p.result.Images
				return nil
			}
			continue
		}
		if err := write(filepath.Join(p.Images, pic.name()), body); err != nil {
			return err
		}
		p.result.Images++
	}

	p.requests += from.requests
	p.retries += from.retries
	p.result.NoImages = len(missing) - p.result.Images
	return nil
}

func (pic *picture) name() string { return pic.ID.String() + path.Ext(pic.URL) }

// wholePicture wants a body to begin as pictures do.
func wholePicture(body []byte) error {
	for _, magic := range []string{"\xff\xd8\xff", "\x89PNG", "RIFF", "GIF8"} {
		if strings.HasPrefix(string(body), magic) {
			return nil
		}
	}
	return errors.New("answered what is no picture")
}

// missingPictures are the products of the current tree whose pictures the folder does not have.
func (p *pull) missingPictures() (all []picture, err error) {
	root := resolved(p.current())
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "products" {
			return err
		}
		var listed struct {
			Results []picture `json:"results"`
		}
		body, err := os.ReadFile(name) //nolint:gosec // a tree of our own
		if err == nil {
			err = json.Unmarshal(body, &listed)
		}
		if err != nil {
			// The builder says what is wrong with it.
			return nil //nolint:nilerr // a file without pictures
		}

		for _, pic := range listed.Results {
			if _, err := os.Stat(filepath.Join(p.Images, pic.name())); pic.fetchable() && err != nil {
				all = append(all, pic)
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b picture) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	return all, err
}

// fetchable wants an address of the web and a number that a file can be called by.
func (pic *picture) fetchable() bool {
	at, err := url.Parse(pic.URL)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return false
	}
	id := pic.ID.String()
	return id != "" && strings.Trim(id, "0123456789") == "" &&
		slices.Contains([]string{".jpg", ".jpeg", ".png", ".webp"}, path.Ext(at.Path))
}
