package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// Asset is a file that pages refer to. Its name holds a hash of its content, so that it may be kept for ever.
type Asset struct {
	Name    string // the last segment of its path: style-0123456789ab.css
	Type    string // media type
	Content []byte
	Gzip    bool // Content is compressed with gzip and was never anything else

	path string // where it is served
}

// assetTypes are the files that are served, with their media types; scalar.js is stored compressed.
var assetTypes = map[string]string{
	"style.css": "text/css; charset=utf-8", "search.js": "text/javascript; charset=utf-8",
	"icon.svg": "image/svg+xml", "card.svg": "image/svg+xml",
	"reference.css": "text/css; charset=utf-8", "reference.js": "text/javascript; charset=utf-8",
	"scalar.js.gz": "text/javascript; charset=utf-8",
}

// readAssets makes the assets of a site below root, by the names of their files.
func readAssets(root string) (map[string]*Asset, error) {
	all := map[string]*Asset{}
	for file, media := range assetTypes {
		content, err := assetFiles.ReadFile("assets/" + file)
		if err != nil {
			return nil, fmt.Errorf("cannot read asset %q: %w", file, err)
		}
		plain, compressed := strings.CutSuffix(file, ".gz")
		if compressed && !bytes.HasPrefix(content, []byte{0x1f, 0x8b}) {
			return nil, fmt.Errorf("cannot use asset %q: it is not gzip", file)
		}

		// A new content is a new name, which no browser has kept.
		sum := sha256.Sum256(content)
		extension := path.Ext(plain)
		name := strings.TrimSuffix(plain, extension) + "-" + hex.EncodeToString(sum[:6]) + extension
		all[plain] = &Asset{
			Name: name, Type: media, Content: content, Gzip: compressed, path: root + "/assets/" + name,
		}
	}
	return all, nil
}

// asset is where a file is served.
func (p *Pages) asset(file string) string { return p.assets[file].path }

// Assets are the files that pages refer to, at /assets/ below the root.
func (p *Pages) Assets() []*Asset { return slices.Collect(maps.Values(p.assets)) }
