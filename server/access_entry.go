package server

import "time"

// AccessLogEntry is what the access log says of a request. It names no address, no path and no text
// of a client's, and neither key nor body.
type AccessLogEntry struct {
	At        time.Time     // when the request was whole
	Took      time.Duration // until its answer was ready to be written
	ID        []byte        // of the request; valid until Options.OnAccess returns
	Tenant    string        // "" before a key was recognised
	Key       string        // public id
	Surface   string        // as the counts name it
	Operation string
	Status    int
	Bytes     int    // of the body, as sent
	Snapshot  string // "" where none was asked
}

// logAccess hands a request that has its answer to the access log.
func (x *exchange) logAccess(took time.Duration) {
	row := x.s.metrics.rows[x.row]
	entry := AccessLogEntry{
		At: x.time, Took: took, ID: x.id, Surface: row.surface, Operation: row.operation,
		Status: x.Ctx.Response.StatusCode(),
	}

	if principal := x.charge.principal; principal != nil {
		entry.Tenant = principal.Tenant
		entry.Key = principal.KeyID
	}
	if view := x.request.View; view != nil {
		entry.Snapshot = view.ID
	}

	// A stream is read by whoever sends it.
	if resp := &x.Ctx.Response; !x.Ctx.IsHead() && !resp.IsBodyStream() {
		entry.Bytes = len(resp.Body())
	}
	x.s.OnAccess(entry)
}
