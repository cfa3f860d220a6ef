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
	thumbnailPath = "/small/{id}"
	// thumbnailWorkers is how many thumbnails are made at a time: each takes a core for some ten
	// milliseconds, and a page may need a hundred.
	thumbnailWorkers = 2
	// thumbnailTimeout is how long a request waits for a worker before it gets the whole picture.
	thumbnailTimeout = 10 * time.Second
	// maxUnshrunk is the largest file that is shown as it is.
	maxUnshrunk = 8 << 10
)

// sizes are the sizes of thumbnails by the first letter of their names.
var sizes = map[string]picture.Size{
	"r": picture.Small, "m": picture.Medium, "p": picture.Large, "c": picture.Full,
}

// Thumbnails are small copies of the pictures of a folder. Each is made at its first request and
// stored in a folder of its own.
type Thumbnails struct {
	cache    *os.Root
	workers  *semaphore.Weighted
	inFlight singleflight.Group
	wait     time.Duration // thumbnailTimeout, and longer in tests
	// versions are the current versions of pictures, by file. A thumbnail's name has the version,
	// so that it may be cached for ever.
	versions atomic.Pointer[map[string]string]
}

// EnableThumbnails makes the folder for thumbnails of the images, and serves them from it.
func (images *Images) EnableThumbnails(dir string) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("cannot make the folder for small pictures: %w", err)
	}
	cache, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("cannot open the folder for small pictures: %w", err)
	}
	images.thumbnails = &Thumbnails{
		cache: cache, workers: semaphore.NewWeighted(thumbnailWorkers),
		wait: thumbnailTimeout,
	}
	images.thumbnails.versions.Store(&map[string]string{})
	return nil
}

// Version returns the current version of a picture, as the names of its thumbnails have it; "" if
// it has none.
func (images *Images) Version(file string) string {
	if images == nil || images.thumbnails == nil {
		return ""
	}
	return (*images.thumbnails.versions.Load())[file]
}

// recordVersions sets the current versions, and removes thumbnails of others.
func (c *Thumbnails) recordVersions(versions map[string]string) error {
	c.versions.Store(&versions)
	current := make(map[string]bool, len(sizes)*len(versions))
	for file, version := range versions {
		if version == "" {
			continue
		}
		for letter := range sizes {
			current[copyName(letter, version, file)] = true
		}
	}

	entries, err := fs.ReadDir(c.cache.FS(), ".")
	if err != nil {
		return fmt.Errorf("cannot read the folder of small pictures: %w", err)
	}
	for _, entry := range entries {
		// Nothing else is removed: the folder may have other files, by mistake.
		if !current[entry.Name()] && copyNamePattern.MatchString(entry.Name()) {
			err = errors.Join(err, c.cache.Remove(entry.Name()))
		}
	}
	return err
}

// fileVersion returns the version of a file, which changes when the file is replaced; "" if it gets
// no thumbnails.
func fileVersion(file string, info fs.FileInfo) string {
	// This program cannot decode AVIF.
	if extension(file) == ".avif" || info.Size() <= maxUnshrunk {
		return ""
	}
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, info.Size(), info.ModTime().UnixNano())
	return strconv.FormatUint(h.Sum64(), 36)
}

// copyNamePattern matches the names of thumbnails, unfinished ones included.
var copyNamePattern = regexp.MustCompile(`^[rmpc]-[0-9a-z]+-[0-9a-z]+\.jpg(\.part)?$`)

// copyName is the name of a thumbnail in its folder.
func copyName(letter, version, file string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, file)
	return letter + "-" + version + "-" + strconv.FormatUint(h.Sum64(), 36) + ".jpg"
}

// cachedThumbnail returns a thumbnail, which it makes if it is missing.
func (images *Images) cachedThumbnail(
	ctx context.Context, log *slog.Logger, letter, version, file string,
) ([]byte, error) {
	c := images.thumbnails
	name := copyName(letter, version, file)
	if cached, err := fs.ReadFile(c.cache.FS(), name); err == nil {
		return cached, nil
	}

	// Concurrent requests for one thumbnail wait for the same work.
	made, err, _ := c.inFlight.Do(name, func() (any, error) {
		if err := c.workers.Acquire(ctx, 1); err != nil {
			return nil, fmt.Errorf("cannot wait for a turn: %w", err)
		}
		defer c.workers.Release(1)
		return images.shrink(log, letter, name, file)
	})
	copied, _ := made.([]byte)
	return copied, err
}

// shrink makes a thumbnail and stores it. If that fails, it logs the error, and the thumbnail is
// made again next time.
func (images *Images) shrink(log *slog.Logger, letter, name, file string) ([]byte, error) {
	whole, _, err := images.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = whole.Close() }() // only read

	copied, err := picture.Thumbnail(whole, sizes[letter])
	if err != nil {
		return nil, err
	}

	// The rename makes it appear complete or not at all.
	part := name + ".part"
	err = images.thumbnails.cache.WriteFile(part, copied, 0o640)
	if err == nil {
		err = images.thumbnails.cache.Rename(part, name)
	}
	if err != nil {
		log.Warn("cannot store a thumbnail", slog.Any("cause", err))
	}
	return copied, nil
}

// thumbnail answers GET /small/{size}-{version}-{file}. If there is no such thumbnail, it redirects
// to the current one or to the whole picture.
func (v *pageRequest) thumbnail() {
	images := v.x.s.Images
	name, _ := v.x.request.PathID()
	letter, rest, _ := strings.Cut(name, "-")
	version, file, _ := strings.Cut(rest, "-")
	if sizes[letter] == 0 || !isImage(file) {
		v.x.writeNotFound(v.x.Ctx.URI().PathOriginal(), "There is no such image.")
		return
	}

	// These redirects are temporary: a version changes.
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
	copied, err := images.cachedThumbnail(ctx, v.x.s.Log, letter, version, file)
	if err != nil {
		v.redirect(fasthttp.StatusFound, whole)
		return
	}

	v.beginFileHead(assetCache, imagePolicy)
	v.x.Head.Send(&v.x.Ctx.Response.Header)
	v.x.Ctx.Response.Header.SetContentType("image/jpeg")
	v.x.SendShared(copied)
}
