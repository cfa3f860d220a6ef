package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // a format of pictures
	"image/jpeg"
	_ "image/png" // as above
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // as above
)

// Size is the width of a thumbnail in pixels. Thumbnails are for screens with two pixels per CSS
// pixel.
type Size int

// The sizes: next to a line of text, in a pocket of a screen with few pixels and with many, and on
// the page of a card.
const (
	Small  Size = 96
	Medium Size = 220
	Large  Size = 300
	Full   Size = 640
)

// quality is the JPEG quality by size. A picture in a pocket is looked at more closely.
var quality = map[Size]int{Small: 70, Medium: 78, Large: 78, Full: 82}

// maxPixels bounds the decoded pixels, because a file of a few bytes can declare any size.
const maxPixels = 24 << 20

var errTooLarge = errors.New("it has too many pixels")

// Thumbnail returns a small copy of a picture, as JPEG. A picture that is no wider than size is not
// scaled.
func Thumbnail(file io.ReadSeeker, size Size) ([]byte, error) {
	about, _, err := image.DecodeConfig(file)
	if err == nil && (about.Width < 1 || about.Height < 1 || about.Width > maxPixels/about.Height) {
		err = errTooLarge
	}
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read a picture: %w", err)
	}

	original, _, err := image.Decode(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read a picture: %w", err)
	}

	// Transparent parts become white.
	from := original.Bounds()
	width := min(int(size), from.Dx())
	height := max(from.Dy()*width/from.Dx(), 1)
	thumbnail := image.NewRGBA(image.Rect(0, 0, width, height))
	draw.Draw(thumbnail, thumbnail.Bounds(), image.White, image.Point{}, draw.Src)
	draw.CatmullRom.Scale(thumbnail, thumbnail.Bounds(), original, from, draw.Over, nil)

	var out bytes.Buffer
	if err := jpeg.Encode(&out, thumbnail, &jpeg.Options{Quality: quality[size]}); err != nil {
		return nil, fmt.Errorf("cannot write a picture: %w", err)
	}
	return out.Bytes(), nil
}
