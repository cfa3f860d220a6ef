// Package plot draws small log-log line charts as SVG for light and dark pages.
package plot

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Panel is one chart of a grid.
type Panel struct {
	Title string
	Lines []Line
}

// Line is a named series; values must be above zero, others are left out.
type Line struct {
	Name   string
	Points []Point
}

// Point is one value of a line.
type Point struct{ X, Y float64 }

// Measures in pixels.
const (
	columns            = 2
	panelW, panelH     = 440, 330
	padLeft, padRight  = 58, 24
	padTop, padBottom  = 40, 40
	headH, legendH     = 40, 18
	plotW              = panelW - padLeft - padRight
	markR              = 3.5
	fontSize, smallGap = 12, 6
)

// style has the colours. A page that embeds the file as an image passes on its colour scheme.
const style = `
text { font: 12px system-ui, sans-serif; fill: #24292f; }
.head { font-size: 16px; font-weight: 600; }
.title { font-weight: 600; }
.grid { stroke: #d0d7de; stroke-width: 1; }
.l0 { stroke: #0969da; fill: #0969da; } .l1 { stroke: #bc4c00; fill: #bc4c00; }
.l2 { stroke: #1a7f37; fill: #1a7f37; } .l3 { stroke: #8250df; fill: #8250df; }
polyline { stroke-width: 2; } polyline.l0, polyline.l1, polyline.l2, polyline.l3 { fill: none; }
.page { fill: #ffffff; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .grid { stroke: #30363d; } .page { fill: #0d1117; }
  .l0 { stroke: #58a6ff; fill: #58a6ff; } .l1 { stroke: #f0883e; fill: #f0883e; }
  .l2 { stroke: #56d364; fill: #56d364; } .l3 { stroke: #bc8cff; fill: #bc8cff; }
}
`

// Grid draws panels two in a row.
func Grid(title string, panels []Panel) string {
	rows := (len(panels) + columns - 1) / columns
	w := columns * panelW
	h := headH + rows*panelH
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`+
		"\n<style>%s</style>\n", w, h, escape(title), style)
	fmt.Fprintf(&out, `<rect class="page" width="%d" height="%d"/>`+"\n", w, h)
	fmt.Fprintf(&out, `<text class="head" x="%d" y="26">%s</text>`+"\n", padLeft, escape(title))
	for i := range panels {
		fmt.Fprintf(&out, `<g transform="translate(%d %d)">`+"\n", i%columns*panelW, headH+i/columns*panelH)
		panels[i].draw(&out)
		out.WriteString("</g>\n")
	}

	out.WriteString("</svg>\n")
	return out.String()
}

// frame turns values into pixels of a panel.
type frame struct {
	x0, x1, y0, y1 float64 // decades: log10 of the values at the edges
	top, height    float64
}

func (f *frame) x(v float64) float64 {
	return padLeft + (math.Log10(v)-f.x0)/(f.x1-f.x0)*plotW
}

func (f *frame) y(v float64) float64 {
	return f.top + f.height - (math.Log10(v)-f.y0)/(f.y1-f.y0)*f.height
}

func (p *Panel) draw(out *strings.Builder) {
	fmt.Fprintf(out, `<text class="title" x="%d" y="16">%s</text>`+"\n", padLeft, escape(p.Title))
	f, ok := p.frame()
	if !ok {
		return
	}

	p.grid(out, &f)
	for i := range p.Lines {
		class := fmt.Sprintf("l%d", i%4)
		legend := padTop - 8 + i*legendH
		fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="10" height="4"/><text x="%d" y="%d">%s</text>`+"\n",
			class, padLeft, legend-4, padLeft+10+smallGap, legend+2, escape(p.Lines[i].Name))
		var path []string
		for _, q := range p.Lines[i].Points {
			if q.X > 0 && q.Y > 0 {
				path = append(path, fmt.Sprintf("%.1f,%.1f", f.x(q.X), f.y(q.Y)))
				fmt.Fprintf(out, `<circle class="%s" cx="%.1f" cy="%.1f" r="%g"/>`+"\n", class, f.x(q.X), f.y(q.Y),
					markR)
			}
		}

		fmt.Fprintf(out, `<polyline class="%s" points="%s"/>`+"\n", class, strings.Join(path, " "))
	}
}

// frame returns a frame with the decades of all values.
func (p *Panel) frame() (frame, bool) {
	var xs, ys []float64
	for i := range p.Lines {
		for _, q := range p.Lines[i].Points {
			if q.X > 0 && q.Y > 0 {
				xs = append(xs, math.Log10(q.X))
				ys = append(ys, math.Log10(q.Y))
			}
		}
	}

	if len(xs) == 0 {
		return frame{}, false
	}

	f := frame{
		x0: math.Floor(slices.Min(xs)), x1: math.Ceil(slices.Max(xs)), y0: math.Floor(slices.Min(ys)),
		y1: math.Ceil(slices.Max(ys)),
	}
	f.x1 = max(f.x1, f.x0+1)
	f.y1 = max(f.y1, f.y0+1)
	f.top = float64(padTop + len(p.Lines)*legendH - smallGap)
	f.height = panelH - padBottom - f.top
	return f, true
}

// grid draws a line and a label for each decade.
func (p *Panel) grid(out *strings.Builder, f *frame) {
	bottom := f.top + f.height
	for d := f.x0; d <= f.x1; d++ {
		x := f.x(math.Pow(10, d))
		fmt.Fprintf(out, `<line class="grid" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`, x, f.top, x, bottom)
		fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="middle">%s</text>`+"\n", x, bottom+18, decade(d))
	}

	for d := f.y0; d <= f.y1; d++ {
		y := f.y(math.Pow(10, d))
		fmt.Fprintf(out, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`, padLeft, y, padLeft+plotW, y)
		fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", padLeft-smallGap, y+fontSize/3,
			decade(d))
	}
	fmt.Fprintf(out, `<text x="%d" y="%.1f" text-anchor="end">cards</text>`+"\n", padLeft+plotW, bottom+33)
}

// decade formats a power of ten.
func decade(d float64) string {
	switch {
	case d >= 6:
		return fmt.Sprintf("%gM", math.Pow(10, d-6))
	case d >= 3:
		return fmt.Sprintf("%gk", math.Pow(10, d-3))
	}
	return fmt.Sprintf("%g", math.Round(math.Pow(10, d)*1e6)/1e6)
}

func escape(s string) string {
	var out strings.Builder
	// Writes to a strings.Builder do not fail.
	_ = xml.EscapeText(&out, []byte(s))
	return out.String()
}
