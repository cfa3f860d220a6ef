package server

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
	"github.com/valyala/fasthttp"
)

const (
	imagesPath = "/images/{id}"
	// imageCache shows a replaced image after a day at the latest; until then the validator saves
	// the bytes.
	imageCache = "public, max-age=86400"
)

// imageTypes are the media types of images by file extension. None is a type that a browser would
// run.
var imageTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp", ".avif": "image/avif",
	".gif": "image/gif",
}

// Images is the operator's folder of card images. Names cannot lead out of the folder.
type Images struct {
	root       *os.Root
	thumbnails *Thumbnails   // nil without a folder for thumbnails
	listHash   atomic.Uint64 // see ListHash
}

// OpenImages opens an image folder.
func OpenImages(dir string) (*Images, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot open image folder %q: %w", dir, err)
	}
	return &Images{root: root}, nil
}

// List reads the folder and returns a function that reports whether a file was an image in it.
func (images *Images) List() (has func(file string) bool, err error) {
	entries, err := fs.ReadDir(images.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("cannot read the image folder: %w", err)
	}

	versions := make(map[string]string, len(entries)) // "" for a file without thumbnails
	listed := xxhash.New()
	for _, entry := range entries {
		if !isImage(entry.Name()) {
			continue
		}

		// A link counts if it leads to a file within the folder.
		info, err := images.root.Stat(entry.Name())
		if err == nil && info.Mode().IsRegular() {
			versions[entry.Name()] = fileVersion(entry.Name(), info)
			_, _ = fmt.Fprintf(listed, "%s\x00%d\x00", entry.Name(), info.Size())
		}
	}

	images.listHash.Store(listed.Sum64())

	// Old thumbnails that cannot be removed do no harm.
	if images.thumbnails != nil {
		_ = images.thumbnails.recordVersions(versions)
	}
	return func(file string) bool { _, ok := versions[file]; return ok }, nil
}

// ListHash returns a hash of the names and lengths of the images that List found last. Servers of a
// fleet answer alike only if theirs are the same.
func (images *Images) ListHash() string { return fmt.Sprintf("%016x", images.listHash.Load()) }

// isImage reports whether a file name is that of an image directly in the folder.
func isImage(name string) bool {
	return imageTypes[extension(name)] != "" && name[0] != '.' && !strings.ContainsAny(name, `/\\`)
}

func extension(name string) string { return strings.ToLower(filepath.Ext(name)) }

// open opens an image; the error is fs.ErrNotExist for everything else.
func (images *Images) open(name string) (*os.File, fs.FileInfo, error) {
	if !isImage(name) {
		return nil, nil, fs.ErrNotExist
	}

	// Only a regular file may be opened: opening a pipe would wait for its other end.
	if info, err := images.root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(fs.ErrNotExist, err)
	}

	file, err := images.root.Open(name)
	if err != nil {
		return nil, nil, err
	}

	// The file may have been replaced since: size and time must be those of the opened one.
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// image answers GET /images/{file}.
func (v *pageRequest) image() {
	name, _ := v.x.request.PathID() // no image has an empty name
	file, info, err := v.x.s.Images.open(name)
	if err != nil {
		v.x.writeNotFound(v.x.Ctx.URI().PathOriginal(), "There is no such image.")
		return
	}

	resp := &v.x.Ctx.Response
	tag := xxhash.Sum64String(fmt.Sprintf("%s\x00%d\x00%d", name, info.Size(), info.ModTime().UnixNano()))
	v.beginFileHead(imageCache, imagePolicy)
	v.x.SetETag(tag, "")
	v.x.Head.Send(&resp.Header)

	if v.x.Matches(tag, "") {
		_ = file.Close() // nothing was read
		resp.SetStatusCode(fasthttp.StatusNotModified)
		return
	}
	resp.Header.SetContentType(imageTypes[extension(name)])
	resp.SetBodyStream(file, int(info.Size())) // closes the file
}
