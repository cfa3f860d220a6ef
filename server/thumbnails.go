package server

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"ninepocket/site/picture"
)

const (
	smallPath = "/small/{id}"
	// thumbnailWorkers is how many pictures are made smaller at a time: each takes a core for some
	// ten milliseconds, and a page may ask for a hundred.
	thumbnailWorkers = 2
	// thumbnailTimeout is how long a visitor waits for a turn before the whole picture does.
	thumbnailTimeout = 10 * time.Second
	// smallFile is a picture no larger than which is shown as it is.
	smallFile = 8 << 10
)

// sizes are the small copies by the letter that their names begin with.
var sizes = map[string]picture.Size{"r": picture.Small, "p": picture.Large}

// Thumbnails are small copies of the pictures of a folder. Each is made when it is first asked for,
// and kept in a folder of its own.
type Thumbnails struct {
	cache *os.Root
	turns *semaphore.Weighted
	made  singleflight.Group
	wait  time.Duration // thumbnailTimeout, and longer in tests
	// versions tell for each picture what it is now: a copy's name holds it, so that a copy may be
	// kept for ever.
	versions atomic.Pointer[map[string]string]
}

// EnableThumbnails has the folder keep small copies of its pictures in a folder, which is made.
func (images *Images) EnableThumbnails(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("cannot make the folder for small pictures: %w", err)
	}
	cache, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot open the folder for small pictures: %w", err)
	}
	images.thumbnails = &Thumbnails{
		cache: cache, turns: semaphore.NewWeighted(thumbnailWorkers),
		wait: thumbnailTimeout,
	}
	return nil
}

// Version is what a picture is now, as the names of its small copies have it; "" where there are none.
func (images *Images) Version(file string) string {
	if images == nil || images.thumbnails == nil {
		return ""
	}
	versions := images.thumbnails.versions.Load()
	if versions == nil {
		return ""
	}
	return (*versions)[file]
}

// recordVersions takes down which pictures there are, and lets go of copies of others.
func (c *Thumbnails) recordVersions(versions map[string]string) error {
	c.versions.Store(&versions)
	current := make(map[string]bool, 2*len(versions))
	for file, version := range versions {
		for letter := range sizes {
			current[copyName(letter, version, file)] = true
		}
	}

	entries, err := fs.ReadDir(c.cache.FS(), ".")
	if err != nil {
		return fmt.Errorf("cannot read the folder of small pictures: %w", err)
	}
	for _, entry := range entries {
		// Nothing else is removed: the folder may be somebody's, by mistake.
		if !current[entry.Name()] && copyNames.MatchString(entry.Name()) {
			err = errors.Join(err, c.cache.Remove(entry.Name()))
		}
	}
	return err
}

// versionOf is the version of a file: another one as soon as it is replaced.
func versionOf(file string, info fs.FileInfo) string {
	// A picture of this kind cannot be read here.
	if extension(file) == ".avif" || info.Size() <= smallFile {
		return ""
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, info.Size(), info.ModTime().UnixNano())
	return strconv.FormatUint(h.Sum64(), 36)
}

// copyNames are the names of copies, and of those that were not finished.
var copyNames = regexp.MustCompile(`^[rp]-[0-9a-z]+-[0-9a-z]+\.jpg(\.part)?$`)

// copyName is the name of a copy in its folder.
func copyName(letter, version, file string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, file)
	return letter + "-" + version + "-" + strconv.FormatUint(h.Sum64(), 36) + ".jpg"
}

// get is a small copy, which is made unless it is there.
func (images *Images) get(ctx context.Context, log *slog.Logger, letter, version, file string) ([]byte, error) {
	c := images.thumbnails
	name := copyName(letter, version, file)
	if cached, err := fs.ReadFile(c.cache.FS(), name); err == nil {
		return cached, nil
	}

	// Several who ask for one picture wait for one copy.
	made, err, _ := c.made.Do(name, func() (any, error) {
		if err := c.turns.Acquire(ctx, 1); err != nil {
			return nil, fmt.Errorf("cannot wait for a turn: %w", err)
		}
		defer c.turns.Release(1)
		return images.shrink(log, letter, name, file)
	})
	copied, _ := made.([]byte)
	return copied, err
}

// shrink makes a copy and keeps it. One that cannot be kept is told to the log, and made again.
func (images *Images) shrink(log *slog.Logger, letter, name, file string) ([]byte, error) {
	whole, _, err := images.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = whole.Close() }() // it was only read

	copied, err := picture.Thumbnail(whole, sizes[letter])
	if err != nil {
		return nil, err
	}

	// It is kept whole or not at all.
	part := name + ".part"
	err = images.thumbnails.cache.WriteFile(part, copied, 0o640)
	if err == nil {
		err = images.thumbnails.cache.Rename(part, name)
	}
	if err != nil {
		log.Warn("cannot keep a small picture", slog.Any("cause", err))
	}
	return copied, nil
}

// thumbnail answers GET /small/{size}-{version}-{file}. Where there is no such copy, it leads to
// the one that there is now, or to the whole picture.
func (v *pageRequest) thumbnail() {
	images := v.x.s.Images
	name, _ := v.x.request.PathID()
	letter, rest, _ := strings.Cut(name, "-")
	version, file, _ := strings.Cut(rest, "-")
	if sizes[letter] == 0 || !isImage(file) {
		v.x.missing(v.x.Ctx.URI().PathOriginal(), "There is no such image.")
		return
	}

	// What leads elsewhere is a redirect that nobody keeps for good.
	root := ""
	if v.pages != nil {
		root = v.pages.Root()
	}
	whole := root + "/images/" + url.PathEscape(file)
	now := images.Version(file)
	switch {
	case now == "":
		v.redirect(fasthttp.StatusFound, whole)
		return
	case now != version:
		v.redirect(fasthttp.StatusFound, root+"/small/"+letter+"-"+now+"-"+url.PathEscape(file))
		return
	}

	ctx, cancel := context.WithTimeout(context.Background(), images.thumbnails.wait)
	defer cancel()
	copied, err := images.get(ctx, v.x.s.Log, letter, version, file)
	if err != nil {
		v.redirect(fasthttp.StatusFound, whole)
		return
	}

	v.fileHead(assetCache, imagePolicy)
	v.x.Head.Send(&v.x.Ctx.Response.Header)
	v.x.Ctx.Response.Header.SetContentType("image/jpeg")
	v.x.SendShared(copied)
}
