package api

import (
	"encoding/binary"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/engine"
	"ninepocket/engine/cursor"
	"ninepocket/mcp"
	"ninepocket/valuation"
	"ninepocket/wire"
)

// Operation is what one method of a path does on one surface.
type Operation struct {
	// Name is the ledger's name of it and its operationId.
	Name access.Operation
	// Method is GET or POST. A GET answers HEAD too (decision 4).
	Method string
	// Path is the path as the document spells it, but for the parameter, which is always {id}. It
	// is empty for a tool, which has no path of its own.
	Path string
	// Surface is the contract that it belongs to: keys.Live or keys.Preview.
	Surface keys.Surface
	// Scope is what a preview key needs; 0 for nothing.
	Scope keys.Scope
	// Params are the query parameters that it knows.
	Params []string
	// TakesCSV says that its body may be text/csv instead of JSON.
	TakesCSV bool
	// Identity, where set, says that the operation is idempotent (decision 30): it reads the
	// request and returns the hash of its normalised body. The pipeline claims the caller's key
	// before Run and keeps the reply after it. The answer of such an operation begins with
	// {"data": and has a meta; see Reply.Store.
	RequestHash func(*Request) (access.BodyHash, *wire.APIError)
	// ShowsUsage asks for Request.Usage.
	ShowsUsage bool
	// Meta says that the answer is closed with a meta member, which tells what was charged.
	Meta bool
	// Cacheable says that the answer follows from the snapshot and the request alone.
	Cacheable bool
	// Run appends the answer to the reply, or returns why there is none. An idempotent operation
	// has read the request in Identity already.
	Run runner
}

// runner is how an operation runs.
type runner = func(*Request, *Reply) *wire.APIError

// Service is what operations need besides the View: it is one for all requests.
type Service struct {
	Cursors *cursor.Signer
	// Retained finds the View that a cursor began in, nil when it is gone; see
	// engine.Engine.Retained.
	Retained func(hash uint64) *engine.View
	// IsPending reports whether a snapshot that is not here will be soon; see
	// engine.Engine.IsPending.
	IsPending func(hash uint64, issued time.Time) bool
	// BaseURL is what clients reach the service by, without a slash at the end.
	BaseURL string
	// Tools answers MCP.
	Tools *mcp.Endpoint
}

// Request is what an operation is asked. The pipeline fills the exported fields; the rest is the
// operation's scratch memory, which the next request uses again.
type Request struct {
	// Service is what every operation has, and Op the one that is asked for.
	Service *Service
	Op      *Operation
	// View is the world that the request sees. A cursor turns it to the View that the walk began
	// in.
	View *engine.View
	// Now is the instant of the request, the only one it has.
	Now time.Time
	// Tenant and Plan are the caller's.
	Tenant string
	Plan   *keys.Plan
	// Usage is the caller's allowance, where the operation shows it.
	Usage access.Usage
	// ID is the request id.
	ID []byte
	// Ref is the path's {id} as sent, percent escapes included.
	Ref string
	// Key is the Idempotency-Key header.
	Key string
	// Args are the query parameters; see ReadQuery.
	Args Args
	// Body is the body as sent, and CSV says that it is no JSON.
	Body []byte
	CSV  bool
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
	appraiser  *valuation.Appraiser // nil until one is needed
}

// Reset begins a request anew in the same memory.
func (r *Request) Reset() {
	clear(r.ids)
	clear(r.selections)
	*r = Request{
		Args: r.Args.reset(), problems: r.problems.reset(), text: r.text[:0], cards: r.cards[:0], ids: r.ids[:0],
		selections: r.selections[:0], appraiser: r.appraiser,
	}
}

// Reply is the answer of an operation.
type Reply struct {
	// Body is the answer, appended to; Stored takes its place when the View already has the answer,
	// and is never written to.
	Body   []byte
	Shared []byte
	// VaryingFrom is where Body's end begins, if that differs from answer to answer by a cursor or
	// a request id; else 0.
	VaryingFrom int
	// Tag is the answer's validator, valid with Tagged. Without one it follows from the content.
	Tag     uint64
	HasETag bool
	// Link is the Link header of a page that has a next one.
	Link []byte
	// Interpretation is the X-Search-Interpretation header; empty if the query was used unchanged.
	Interpretation []byte
	// Unknown are the filters' values that nothing has (X-Unknown-Values), empty for none.
	Unknown []byte
	// SnapshotAt is the instant that the answer describes, in ms, for its meta.
	SnapshotAt int64
	// Replay says that the answer is the one that an earlier request got.
	Replay bool
}

// maxPooledBuffer is the largest answer buffer that is used again; larger ones are left to the
// collector.
const maxPooledBuffer = 256 << 10

// Reset begins a reply anew in the same memory.
func (out *Reply) Reset() {
	if cap(out.Body) > maxPooledBuffer {
		out.Body = nil
	}
	*out = Reply{
		Body: out.Body[:0], Link: out.Link[:0], Interpretation: out.Interpretation[:0],
		Unknown: out.Unknown[:0],
	}
}

// Content is the answer's body.
func (out *Reply) Content() []byte {
	if out.Shared != nil {
		return out.Shared
	}
	return out.Body
}

// dataStart begins the answer of an idempotent operation. A kept answer has SnapshotAt in its place, which
// takes as many bytes, and then the data.
const dataStart = `{"data":`

// Store hands an answer that is not closed yet to a function that stores it. The function retains
// no part of the memory that it is given.
func (out *Reply) Store(write func(stored []byte) error) error {
	binary.BigEndian.PutUint64(out.Body, uint64(out.SnapshotAt))
	err := write(out.Body)
	copy(out.Body, dataStart)
	return err
}

// Restore makes the reply what Keep kept: the data and the instant of the first answer. It is false for what
// is no kept answer.
func (out *Reply) Restore(stored []byte) bool {
	if len(stored) < len(dataStart) {
		return false
	}
	out.Replay = true
	out.SnapshotAt = int64(binary.BigEndian.Uint64(stored))
	out.Body = append(append(out.Body, dataStart...), stored[len(dataStart):]...)
	return true
}

// Close closes an answer with its meta: what was charged is known only once the operation is done.
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
