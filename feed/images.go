package feed

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// picturesPerPull bounds the pictures of one pull. The pictures of a whole catalog take some days;
// no host should get tens of thousands of requests at once.
const picturesPerPull = 2000

// maxRefusedShown is the number of refused pictures after which their host is not asked again.
const maxRefusedShown = 20

// picture is a product with the address of its picture.
type picture struct {
	ID  json.Number `json:"productId"`
	URL string      `json:"imageUrl"`
}

// refusedPictures is the file of the folder that lists the products without an available picture, a
// number a line.
const refusedPictures = "refused.txt"

// pictures fetches the missing pictures of the folder, as PRODUCT.jpg. A picture that cannot be
// fetched is requested again by a later pull, after all others: many never exist.
func (p *pull) pictures(ctx context.Context) error {
	missing, err := p.missingPictures()
	if err != nil {
		return err
	}

	name := filepath.Join(p.Images, refusedPictures)
	refused := map[string]bool{}
	if text, err := os.ReadFile(name); err == nil {
		for id := range strings.FieldsSeq(string(text)) {
			refused[id] = true
		}
	}
	before := maps.Clone(refused)

	// Refused pictures come last.
	order := func(pic *picture) string { return strconv.FormatBool(refused[pic.ID.String()]) + pic.ID.String() }
	slices.SortFunc(missing, func(a, b picture) int { return strings.Compare(order(&a), order(&b)) })

	// Pictures come from another host, with an interval of their own.
	from := fetcher{options: &p.Options, interval: p.ImageInterval, result: &p.result}
	err = p.fetchPictures(ctx, &from, missing, refused)
	p.result.NoImages = len(missing) - p.result.Images
	if !maps.Equal(refused, before) {
		list := strings.Join(slices.Sorted(maps.Keys(refused)), "\n") + "\n"
		err = errors.Join(err, p.write(name, []byte(list)))
	}
	return err
}

// fetchPictures fetches as many pictures as one pull may, and notes the pictures that failed.
func (p *pull) fetchPictures(ctx context.Context, from *fetcher, missing []picture, refused map[string]bool) error {
	failed := 0
	for i := range missing[:min(len(missing), picturesPerPull)] {
		pic := &missing[i]
		p.progress("fetching pictures", i, len(missing))
		body, err := from.get(ctx, pic.URL, checkImage)
		if err == nil {
			if err := p.write(filepath.Join(p.Images, pic.name()), body); err != nil {
				return err
			}
			delete(refused, pic.ID.String())
			p.result.Images++
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}

		wait := errors.Is(err, ErrRateLimited)
		if !wait {
			refused[pic.ID.String()] = true
			failed++
		}
		// A host that refuses does not get two thousand requests.
		if wait || failed > maxRefusedShown && failed > i/2 {
			p.warn("pictures are left for the next pull: %s: %v", pic.URL, err)
			return nil
		}
	}
	return nil
}

// name is the name of the picture's file: a build finds it by the product.
func (pic *picture) name() string { return pic.ID.String() + pic.ending() }

// ending is how the address of the picture ends, in lower case, such as .jpg.
func (pic *picture) ending() string {
	at, err := url.Parse(pic.URL)
	if err != nil {
		return ""
	}
	return strings.ToLower(path.Ext(at.Path))
}

// checkImage checks that a body begins like a picture.
func checkImage(body []byte) error {
	for _, magic := range []string{"\xff\xd8\xff", "\x89PNG", "RIFF", "GIF8"} {
		if strings.HasPrefix(string(body), magic) {
			return nil
		}
	}
	return errors.New("answered with a body that is not a picture")
}

// missingPictures are the products of the current feed directory without a picture in the folder.
func (p *pull) missingPictures() (all []picture, err error) {
	root := resolved(p.current())
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "products" {
			return err
		}
		listed, err := readResults[picture](name)
		if err != nil {
			// The builder reports the fault of such a file.
			return nil //nolint:nilerr // a file without pictures
		}

		for _, pic := range listed {
			if _, err := os.Stat(filepath.Join(p.Images, pic.name())); pic.fetchable() && err != nil {
				all = append(all, pic)
			}
		}
		return nil
	})
	return all, err
}

// fetchable checks that the address is a web address and that the number can be a file name.
func (pic *picture) fetchable() bool {
	at, err := url.Parse(pic.URL)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
		return false
	}
	id := pic.ID.String()
	return id != "" && strings.Trim(id, "0123456789") == "" &&
		slices.Contains([]string{".jpg", ".jpeg", ".png", ".webp"}, pic.ending())
}
