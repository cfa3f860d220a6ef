package server

import (
	"bytes"
	"io"
	"mime/multipart"
	"strings"

	"github.com/valyala/fasthttp"

	"ninepocket/site"
)

// valuePath is where a list is valued. What is posted there is answered and forgotten.
const valuePath = "/value"

// valuePage answers GET /value: the empty form.
func (v *visit) valuePage(dst []byte) ([]byte, error) {
	return v.s.Pages.Value(dst, v.request.View, v.time, site.ValueQuery{})
}

// valueList answers POST /value: the list with its prices, as a page or as a table to take away.
func (v *visit) valueList(dst []byte) ([]byte, error) {
	v.cache = "no-store"
	asked, csv := v.readList()
	if !csv {
		return v.s.Pages.Value(dst, v.request.View, v.time, asked)
	}

	v.mediaType = "text/csv; charset=utf-8"
	v.Ctx.Response.Header.Set(fasthttp.HeaderContentDisposition, `attachment; filename="valued.csv"`)
	return v.s.Pages.AppendValueCSV(dst, v.request.View, asked)
}

// readList reads the form. What it does not know counts as absent, as everywhere on the pages.
func (v *visit) readList() (asked site.ValueQuery, csv bool) {
	take := func(name, value string) {
		switch name {
		case "lines":
			asked.Text = bounded(asked.Text + value)
		case "file":
			if strings.TrimSpace(value) != "" {
				asked.Text = bounded(value) // a file that is given goes before what is still in the box
			}
		case "pick":
			if pick, ok := site.ParsePick(value); ok && len(asked.Picks) < 2*site.ValueLines {
				asked.Picks = append(asked.Picks, pick)
			}
		case "as":
			csv = value == "csv"
		}
	}

	boundary := string(v.Ctx.Request.Header.MultipartFormBoundary())
	if boundary == "" {
		for name, value := range v.Ctx.PostArgs().All() {
			take(string(name), strings.ToValidUTF8(string(value), "\uFFFD"))
		}
		return asked, csv
	}

	// The file follows the box in the form.
	parts := multipart.NewReader(bytes.NewReader(v.Ctx.PostBody()), boundary)
	for range mostParts {
		part, err := parts.NextPart()
		if err != nil {
			break
		}
		value, err := io.ReadAll(io.LimitReader(part, site.ValueText))
		if err != nil {
			break
		}
		take(part.FormName(), strings.ToValidUTF8(string(value), "\uFFFD"))
	}
	return asked, csv
}

// mostParts bounds how many fields of a form are read.
const mostParts = 2*site.ValueLines + 8

// bounded is a list that is not longer than what is read of one; what a page cannot show is taken out.
func bounded(text string) string {
	text = strings.ReplaceAll(text[:min(len(text), site.ValueText)], "\x00", "")
	return strings.ToValidUTF8(strings.TrimPrefix(text, "\uFEFF"), "")
}
