package ninepocket

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"net/url"
)

// fetch calls a GET that answers a T.
func fetch[T any](ctx context.Context, c *Client, operation, path string, query url.Values) (*T, error) {
	into := new(T)
	if err := c.get(ctx, call{operation: operation, path: path, query: query}, into); err != nil {
		return nil, err
	}
	return into, nil
}

// errNoID refuses an empty id: its address would be that of a list.
var errNoID = errors.New("an id is empty: give the id or slug of a card or set")

// fetchOne calls a GET of one id. The path has the id between two parts.
func fetchOne[T any](ctx context.Context, c *Client, operation, before, id, behind string, query url.Values) (*T, error) {
	if id == "" {
		return nil, errNoID
	}
	return fetch[T](ctx, c, operation, before+url.PathEscape(id)+behind, query)
}

// Changes walks over what changed since a snapshot, up to the present one or that of the client.
func (c *Client) Changes(ctx context.Context, p ChangesListParams) iter.Seq2[Change, error] {
	to := ""
	return c.changes(ctx, p, &to)
}

// changes also leaves in *to which snapshot the rows lead to, and asks for that one if it is set.
func (c *Client) changes(ctx context.Context, p ChangesListParams, to *string) iter.Seq2[Change, error] {
	if p.Limit == 0 {
		p.Limit = map[bool]int64{true: 5000, false: 1000}[p.Kind == "prices"]
	}
	r := call{
		operation: "changes_list", path: "/v1/changes", query: p.query(), forgets: true, header: map[string]string{},
	}
	if *to != "" {
		r.header["X-Snapshot-Id"] = *to
	}
	// A walk that begins again leads to the same snapshot.
	r.answered = func(header http.Header) {
		*to = header.Get("X-Snapshot-Id")
		r.header["X-Snapshot-Id"] = *to
	}
	return walk[ChangePage, Change](ctx, c, r)
}

// maxRestarts is how often a walk begins again.
const maxRestarts = 3

// pageRows is the size of a page when the caller does not choose: as many as the API gives.
const pageRows = "50"

// page is a page of rows.
type page[P, T any] interface {
	*P
	rows() ([]T, *string)
}

// row is an entry that has a name of its own.
type row[T any] interface {
	*T
	identity() string
}

// walk yields the rows of all pages. When the server cannot go on from a cursor, the walk begins
// again, and rows that were given already are left out.
func walk[P, T any, PP page[P, T], TT row[T]](ctx context.Context, c *Client, r call) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		given := map[string]bool{}
		restarts := 0
		r := r
		r.query = maps.Clone(r.query)
		r.query.Del("cursor")
		if !r.query.Has("limit") {
			r.query.Set("limit", pageRows)
		}

		for {
			hasCursor := r.query.Has("cursor")
			r.forgets = r.forgets || hasCursor
			got := PP(new(P))
			err := c.get(ctx, r, got)
			// The rest of the query was right on the first page, so that 400 means the cursor. Changes
			// that are gone are so for good.
			isGone := hasStatus(err, http.StatusBadRequest, http.StatusPreconditionFailed)
			if hasCursor && isGone && restarts < maxRestarts {
				restarts++
				r.query.Del("cursor")
				continue
			}
			if err != nil {
				yield(*new(T), err)
				return
			}

			data, next := got.rows()
			for i := range data {
				name := TT(&data[i]).identity()
				if !given[name] && !yield(data[i], nil) {
					return
				}
				given[name] = true
			}
			if next == nil {
				return
			}
			r.query.Set("cursor", *next)
		}
	}
}
