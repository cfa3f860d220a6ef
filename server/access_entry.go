package server

import "time"

// AccessLogEntry is the record of one request for the access log. It has no address, no path and no
// text of the client, and neither key nor body.
type AccessLogEntry struct {
	At        time.Time     // when the request was complete
	Took      time.Duration // until its response was ready to be written
	ID        []byte        // of the request; valid until Options.OnAccess returns
	Tenant    string        // "" if no key was recognised
	Key       string        // public id
	Surface   string        // as the metrics name it
	Operation string
	Status    int
	Bytes     int    // of the body, as sent
	Snapshot  string // "" if the request used none
}

// logAccess passes a request whose response is ready to the access log.
func (x *exchange) logAccess(took time.Duration) {
	row := x.s.metrics.rows[x.row]
	entry := AccessLogEntry{
		At: x.time, Took: took, ID: x.id, Surface: row.surface, Operation: row.operation,
		Status: x.Ctx.Response.StatusCode(),
	}

	if principal := x.metering.principal; principal != nil {
		entry.Tenant = principal.Tenant
		entry.Key = principal.KeyID
	}
	if view := x.request.View; view != nil {
		entry.Snapshot = view.ID
	}

	// A stream is read while it is sent: its length is unknown here.
	if resp := &x.Ctx.Response; !x.Ctx.IsHead() && !resp.IsBodyStream() {
		entry.Bytes = len(resp.Body())
	}
	x.s.OnAccess(entry)
}
