package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"strconv"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// The size of a link preview, which other sites show next to a link; it is twice as wide as high.
const (
	previewWidth  = 1200
	previewHeight = 630
	previewScale  = 3 // scale of the placeholder in it
)

// Preview is the content of a link preview of a card.
type Preview struct {
	Placeholder Placeholder
	Title       string
	About       string
	Price       string
	When        string
}

// fonts are the fonts of link previews.
type fonts struct{ regular, bold *opentype.Font }

var loadFonts = sync.OnceValues(func() (fonts fonts, err error) {
	fonts.regular, err = opentype.Parse(goregular.TTF)
	if err == nil {
		fonts.bold, err = opentype.Parse(gobold.TTF)
	}
	return fonts, err
})

// painter paints on one picture. Pass the library its RGBA: on another type it draws slowly.
type painter struct {
	*image.RGBA
	fonts
}

// PNG returns a link preview as PNG.
func (p *Preview) PNG() ([]byte, error) {
	fonts, err := loadFonts()
	if err != nil {
		return nil, fmt.Errorf("cannot read a font: %w", err)
	}

	painter := painter{image.NewRGBA(image.Rect(0, 0, previewWidth, previewHeight)), fonts}
	draw.Draw(painter.RGBA, painter.Bounds(), image.NewUniform(parseColour("#f6f6f3")), image.Point{}, draw.Src)
	const left = 60
	painter.placeholder(&p.Placeholder, left, (previewHeight-previewScale*Height)/2)

	const beside = left + previewScale*Width + 60
	const room = previewWidth - beside - left
	const grey = "#565c66"
	err = errors.Join(
		painter.drawText(p.Title, beside, 150, 62, room, true, Ink),
		painter.drawText(p.About, beside, 300, 34, room, false, grey),
		painter.drawText(p.Price, beside, 470, 96, room, true, p.Placeholder.Hue.Edge),
		painter.drawText(p.When, beside, 530, 30, room, false, grey),
	)
	if err != nil {
		return nil, err
	}

	// A better compression would take most of the time for the last tenth of the size.
	return encodePNG(painter.RGBA, png.BestSpeed)
}

func encodePNG(picture image.Image, level png.CompressionLevel) ([]byte, error) {
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: level}
	if err := encoder.Encode(&out, picture); err != nil {
		return nil, fmt.Errorf("cannot write a picture: %w", err)
	}
	return out.Bytes(), nil
}

// parseColour parses a colour of six hexadecimal digits after a #.
func parseColour(hex string) color.RGBA {
	n, err := strconv.ParseUint(hex[1:], 16, 32)
	if err != nil {
		return color.RGBA{A: 255}
	}
	return color.RGBA{R: uint8(n >> 16), G: uint8(n >> 8), B: uint8(n), A: 255}
}

// drawText draws a text in at most two lines of a width, and truncates the rest.
func (p *painter) drawText(text string, x, y int, size float64, width int, bold bool, hex string) error {
	typeface := p.regular
	if bold {
		typeface = p.bold
	}
	face, err := opentype.NewFace(typeface, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		return fmt.Errorf("cannot make a font: %w", err)
	}

	drawer := font.Drawer{Dst: p.RGBA, Src: image.NewUniform(parseColour(hex)), Face: face}
	for row, line := range breakLines(text, 2, func(s string) bool { return drawer.MeasureString(s).Ceil() <= width }) {
		drawer.Dot = fixed.P(x, y+int(float64(row)*size*1.15))
		drawer.DrawString(line)
	}
	return face.Close()
}

// placeholder paints a placeholder, as the template of pages draws it.
func (p *painter) placeholder(f *Placeholder, x, y int) {
	scale := func(n int) int { return n * previewScale }
	rectangle := func(left, top, width, height int, ink color.Color) {
		at := image.Rect(x+scale(left), y+scale(top), x+scale(left+width), y+scale(top+height))
		draw.Draw(p.RGBA, at, image.NewUniform(ink), image.Point{}, draw.Over)
	}

	edge := parseColour(f.Hue.Edge)
	rectangle(0, 0, Width, Height, edge)
	rectangle(5, 5, Width-10, Height-10, parseColour(f.Hue.Panel))
	rectangle(12, 66, Width-24, 72, color.NRGBA{edge.R, edge.G, edge.B, 38})
	for _, left := range f.Mark.centres() {
		p.shape(f.Mark.Shape, x+scale(left), y+scale(markY), edge)
	}

	write := func(text string, left, base int, size float64, hex string) {
		// PNG reports an error of a font, because its texts use the same fonts.
		_ = p.drawText(text, x+scale(left), y+scale(base), size*previewScale, scale(Width), true, hex)
	}
	write(f.Mark.Letters, markX-9*len([]rune(f.Mark.Letters)), 110, 26, f.Hue.Edge)
	for i, line := range f.Lines {
		write(line, 12, 23+15*i, 12, Ink)
	}
	write(f.Number, 12, 160, 10, Ink)
	write(f.Code, 114-6*len([]rune(f.Code)), 160, 10, Ink)
}

// shape paints a shape around a point.
func (p *painter) shape(shape Shape, x, y int, ink color.Color) {
	r := vector.NewRasterizer(previewWidth, previewHeight)
	for i, corner := range shapeCorners[shape] {
		px := float32(x) + corner[0]*previewScale
		py := float32(y) + corner[1]*previewScale
		if i == 0 {
			r.MoveTo(px, py)
		} else {
			r.LineTo(px, py)
		}
	}
	r.ClosePath()
	r.Draw(p.RGBA, p.Bounds(), image.NewUniform(ink), image.Point{})
}
