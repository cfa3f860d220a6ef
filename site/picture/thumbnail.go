package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // a kind of file that pictures come as
	"image/jpeg"
	_ "image/png" // another one
	"io"

	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // and another one
)

// Size is the width of a small copy, in pixels. Copies are for screens of two pixels a point.
type Size int

// The sizes: beside a line of text, and in a pocket.
const (
	Small Size = 96
	Large Size = 300
)

// quality is that of small copies. In a pocket one looks closer.
var quality = map[Size]int{Small: 70, Large: 78}

// maxPixels bounds what is decoded: a few bytes may say that they are a picture of any size.
const maxPixels = 24 << 20

var errTooLarge = errors.New("it has too many pixels")

// Thumbnail makes a small copy of a picture, as JPEG. A picture that is no wider than the copy
// keeps its size.
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

	// What is transparent is white on paper.
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
