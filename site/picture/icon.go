package picture

import (
	"image"
	"image/draw"
	"image/png"
)

const (
	// iconGrid is the width of the icon in grid squares, as in its SVG.
	iconGrid = 32
	// iconWidth is its width on the home screen of a phone, in pixels.
	iconWidth = 192
)

// Icon returns the icon of the site as PNG: nine pockets, one with a card of another colour.
func Icon() ([]byte, error) {
	const scale = iconWidth / iconGrid
	icon := image.NewRGBA(image.Rect(0, 0, iconWidth, iconWidth))
	draw.Draw(icon, icon.Bounds(), image.NewUniform(parseColour("#1d5bb8")), image.Point{}, draw.Src)
	for row := range 3 {
		for column := range 3 {
			ink := "#ffffff"
			switch {
			case row == 1 && column == 1:
				ink = "#ffd166"
			case (row+column)%2 == 1:
				ink = "#c7d6ed"
			}

			x := 6 + 7*column
			y := 5 + 8*row
			pocket := image.Rect(x*scale, y*scale, (x+6)*scale, (y+6)*scale)
			draw.Draw(icon, pocket, image.NewUniform(parseColour(ink)), image.Point{}, draw.Src)
		}
	}

	return encodePNG(icon, png.DefaultCompression)
}
