package api

import (
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/bulk"
	"ninepocket/engine/cursor"
	"ninepocket/mcp"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// Operation is a method of a path on one surface.
type Operation struct {
	// Name is its operationId, also used in usage records.
	Name access.Operation
	// Method is GET or POST. A GET also serves HEAD (decision 4).
	Method string
	// Path is the path as in the API document, except that the parameter is always {id}. It is
	// empty for a tool, which has no path of its own.
	Path string
	// Surface is the API contract of the operation: keys.Live or keys.Preview.
	Surface keys.Surface
	// Scope is the scope that a preview key needs; 0 for none.
	Scope keys.Scope
	// Params are the known query parameters.
	Params []string
	// TakesCSV means that its body may be text/csv instead of JSON.
	TakesCSV bool
	// GivesCSV means that its response may be text/csv instead of JSON.
	GivesCSV bool
	// RequestHash, if set, makes the operation idempotent (decision 30): it reads the request and
	// returns the hash of its normalised body. The pipeline claims the client's key before Run and
	// stores Reply.Stored after it.
	RequestHash func(*Request) (access.BodyHash, *wire.APIError)
	// Restore makes the response of an idempotent operation from what an earlier request with the
	// same hash stored. It returns false if stored is no such response.
	Restore func(r *Request, out *Reply, stored []byte) bool
	// ShowsUsage means that the operation needs Request.Usage.
	ShowsUsage bool
	// Meta means that the response ends with a meta member, which reports the charge.
	Meta bool
	// Cacheable means that the response depends only on the snapshot and the request.
	Cacheable bool
	// FindsSnapshot means that it reads Request.SnapshotID itself: any other is answered from that View.
	FindsSnapshot bool
	// Run appends the response to the reply, or returns an error. RequestHash of an idempotent
	// operation has already read the request.
	Run runner
}

// runner is the function of an operation.
type runner = func(*Request, *Reply) *wire.APIError

// Service has the dependencies of the operations besides the View, shared by all requests.
type Service struct {
	Cursors *cursor.Signer
	// Retained returns the View of a cursor, nil if it is gone; see engine.Engine.Retained.
	Retained func(hash uint64) *engine.View
	// IsPending reports whether a missing snapshot may arrive soon; see engine.Engine.IsPending.
	IsPending func(hash uint64, issued time.Time) bool
	// BaseURL is the service's URL for clients, without a slash at the end.
	BaseURL string
	// Tools handles MCP calls.
	Tools *mcp.Endpoint
	// Bulk has the files of the whole catalog.
	Bulk *bulk.Store
	// StoresText means that idempotent responses are stored as texts, which all servers of a fleet can
	// read during an upgrade.
	StoresText bool
}

// Request is the input of an operation. The pipeline fills the exported fields; the rest is the
// operation's working memory, which the next request reuses.
type Request struct {
	// Service has the shared dependencies, and Op is the operation.
	Service *Service
	Op      *Operation
	// View is the catalog of the request. A cursor changes it to the View of the first page.
	View *engine.View
	// Pinned means that the caller asked for this View: a cursor must be of it.
	Pinned bool
	// Now is the time of the request, for all uses.
	Now time.Time
	// NextPublication is when the next snapshot is expected, zero for nobody knows.
	NextPublication time.Time
	// Tenant and Plan are the caller's.
	Tenant string
	Plan   *keys.Plan
	// Usage is the caller's quota use, if the operation shows it.
	Usage access.Usage
	// Ref is the path's {id} as sent, percent escapes included.
	Ref string
	// FileName is the path's {name}, and SnapshotID the X-Snapshot-Id header of an operation that finds it.
	FileName, SnapshotID string
	// Key is the Idempotency-Key header.
	Key string
	// Args are the query parameters; see ReadQuery.
	Args Args
	// Body is the body as sent, and CSV means that it is not JSON.
	Body []byte
	CSV  bool
	// WantsCSV means that the client prefers CSV, which the operation gives.
	WantsCSV bool
	// Quota reserves further units of the caller's quota, for an operation that counts as several requests.
	Quota interface{ Reserve(n int) *wire.APIError }
	// Strict makes unknown parameters and members errors (decisions 5 and 7).
	Strict bool
	// Message is the MCP call, for a tool.
	Message *mcp.Message

	problems problems
	text     []byte
	cards    []uint32
	// Parts of the body.
	ids        []string
	selections []wire.Selection
	results    []wire.PriceResult
	appraiser  *valuation.Appraiser // nil until one is needed
}

// Reset clears a request for reuse.
func (r *Request) Reset() {
	clear(r.ids)
	clear(r.selections)
	clear(r.results)
	clear(r.problems.listed)
	*r = Request{
		Args: Args{known: r.Args.known[:0]}, problems: problems{listed: r.problems.listed[:0]}, text: r.text[:0],
		cards: r.cards[:0], ids: r.ids[:0], selections: r.selections[:0], results: r.results[:0],
		appraiser: r.appraiser,
	}
}

// Reply is the response of an operation.
type Reply struct {
	// Body is the response that the operation appends to. Shared replaces it if the View already
	// has the response, and is never written to.
	Body   []byte
	Shared []byte
	// CSV means that the body is not JSON.
	CSV bool
	// VaryingFrom is the start of the part of Body that differs between responses by a cursor or a
	// request id; 0 without one.
	VaryingFrom int
	// Stored is what a store has of the response of an idempotent operation.
	Stored []byte
	// Tag is the response's validator, valid with HasETag. Without one it is computed from the
	// content.
	Tag     uint64
	HasETag bool
	// Link is the Link header of a page with a next page.
	Link []byte
	// Interpretation is the X-Search-Interpretation header; empty if the query was used unchanged.
	Interpretation []byte
	// UnknownValues is the X-Unknown-Values header: the values of filters that no record has, empty
	// for none.
	UnknownValues []byte
	// SnapshotAt is the time of the response's data, in ms, for its meta.
	SnapshotAt int64
	// Bulk describes a snapshot's files in the response, and File is sent in place of Body.
	Bulk *bulk.Files
	File *bulk.Download
	// RetryAfter is when the response will be another one, in seconds; 0 for not soon.
	RetryAfter int
	// Replay means that the response is the stored one of an earlier request.
	Replay bool
}

// maxPooledBuffer is the largest response buffer that is reused; larger ones are left to the
// garbage collector.
const maxPooledBuffer = 256 << 10

// Reset clears a reply for reuse.
func (out *Reply) Reset() {
	if cap(out.Body) > maxPooledBuffer {
		out.Body = nil
	}
	if out.File != nil {
		_ = out.File.Close() // it was not sent
	}
	*out = Reply{
		Body: out.Body[:0], Stored: out.Stored[:0], Link: out.Link[:0], Interpretation: out.Interpretation[:0],
		UnknownValues: out.UnknownValues[:0],
	}
}

// Content returns the response's body.
func (out *Reply) Content() []byte {
	if out.Shared != nil {
		return out.Shared
	}
	return out.Body
}

// Close appends the meta of a response: the charge is known only after the operation.
func (out *Reply) Close(requestID []byte, units int64) {
	if out.VaryingFrom == 0 {
		out.VaryingFrom = len(out.Body)
	}
	out.Body = append(out.Body, `,"meta":`...)
	out.Body = wire.AppendMeta(out.Body, wire.Meta{
		RequestID: string(requestID), SnapshotAt: out.SnapshotAt, Units: int(units), Replay: out.Replay,
	})
	out.Body = append(out.Body, '}')
}
