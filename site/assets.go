package site

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"ninepocket/site/picture"
)

//go:embed assets
var assetFiles embed.FS

// Asset is a file that pages refer to. Its name has a hash of its content, so that it can be cached
// for ever.
type Asset struct {
	Name    string // the last segment of its path: style-0123456789ab.css
	Type    string // media type
	Content []byte

	path string // path of its URL
}

// assetTypes has the media types of the files that are served.
var assetTypes = map[string]string{
	"style.css": "text/css; charset=utf-8", "search.js": "text/javascript; charset=utf-8",
	"chart.js": "text/javascript; charset=utf-8", "reference.js": "text/javascript; charset=utf-8",
	valueScript: "text/javascript; charset=utf-8", "checklist.js": "text/javascript; charset=utf-8",
	"icon.svg": "image/svg+xml",
}

// valueScript values a list in pieces.
const valueScript = "value.js"

// ScriptVersion returns the version of the script that values lists. The responses to it change
// with it.
func (p *Pages) ScriptVersion() string { return p.assets[valueScript].Name }

// readAssets returns the assets of a site below root, by file name.
func readAssets(root string) (map[string]*Asset, error) {
	all := map[string]*Asset{}
	for file, media := range assetTypes {
		content, err := assetFiles.ReadFile("assets/" + file)
		if err != nil {
			return nil, fmt.Errorf("cannot read asset %q: %w", file, err)
		}
		all[file] = newAsset(root, file, media, content)
	}

	// The icon on the home screen of a phone cannot be SVG.
	touch, err := picture.Icon()
	if err != nil {
		return nil, err
	}
	all["touch.png"] = newAsset(root, "touch.png", "image/png", touch)
	return all, nil
}

// newAsset makes an asset below root. New content gets a new name, which no browser has cached.
func newAsset(root, file, media string, content []byte) *Asset {
	sum := sha256.Sum256(content)
	extension := path.Ext(file)
	name := strings.TrimSuffix(file, extension) + "-" + hex.EncodeToString(sum[:6]) + extension
	return &Asset{Name: name, Type: media, Content: content, path: root + "/assets/" + name}
}

// Icon returns the icon of the site as PNG.
func (p *Pages) Icon() []byte { return p.assets["touch.png"].Content }

// asset returns the URL path of a file.
func (p *Pages) asset(file string) string { return p.assets[file].path }

// Assets returns the files that pages refer to; they are served at /assets/ below the root.
func (p *Pages) Assets() []*Asset { return slices.Collect(maps.Values(p.assets)) }
