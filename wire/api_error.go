package wire

// Code names an error to a client. Each of the two surfaces has a table of the codes' meanings.
type Code string

// The codes of both surfaces (decision 3).
const (
	InvalidRequest         Code = "invalid_request"
	Unauthorized           Code = "unauthorized"
	InvalidAPIKey          Code = "invalid_api_key"
	SandboxKey             Code = "sandbox_key"
	PlanLimit              Code = "plan_limit"
	InsufficientScope      Code = "insufficient_scope"
	NotFound               Code = "not_found"
	MethodNotAllowed       Code = "method_not_allowed"
	RequestTimeout         Code = "request_timeout"
	IdempotencyConflict    Code = "idempotency_conflict"
	SnapshotGone           Code = "snapshot_gone"
	PayloadTooLarge        Code = "payload_too_large"
	UnsupportedMediaType   Code = "unsupported_media_type"
	RangeNotSatisfiable    Code = "range_not_satisfiable"
	HostNotAllowed         Code = "host_not_allowed"
	OriginNotAllowed       Code = "origin_not_allowed"
	NotAcceptable          Code = "not_acceptable"
	HeadersTooLarge        Code = "request_header_fields_too_large"
	RateLimitExceeded      Code = "rate_limit_exceeded"
	QuotaExceeded          Code = "quota_exceeded"
	InternalError          Code = "internal_error"
	TemporarilyUnavailable Code = "temporarily_unavailable"
)

// Meaning is a code's HTTP status and its title for people.
type Meaning struct {
	Status int
	Title  string
}

// withSharedCodes adds the codes with a common meaning to the codes of one surface.
func withSharedCodes(codes map[Code]Meaning) map[Code]Meaning {
	codes[InvalidRequest] = Meaning{400, "Invalid request"}
	codes[NotFound] = Meaning{404, "Not found"}
	codes[MethodNotAllowed] = Meaning{405, "Method not allowed"}
	codes[RequestTimeout] = Meaning{408, "Request took too long to arrive"}
	codes[PayloadTooLarge] = Meaning{413, "Payload too large"}
	codes[UnsupportedMediaType] = Meaning{415, "Unsupported media type"}
	codes[RateLimitExceeded] = Meaning{429, "Rate limit exceeded"}
	codes[QuotaExceeded] = Meaning{429, "Quota exceeded"}
	codes[HeadersTooLarge] = Meaning{431, "Request header fields too large"}
	codes[InternalError] = Meaning{500, "Internal error"}
	codes[TemporarilyUnavailable] = Meaning{503, "Temporarily unavailable"}
	return codes
}

// LiveCodes and PreviewCodes are the error codes of the two surfaces.
var (
	LiveCodes = withSharedCodes(map[Code]Meaning{
		Unauthorized: {401, "Unauthorized"},
		SandboxKey:   {403, "Sandbox key used"},
		PlanLimit:    {403, "Plan limit"},
		// only of the MCP endpoint
		HostNotAllowed:   {403, "Host not allowed"},
		OriginNotAllowed: {403, "Origin not allowed"},
		NotAcceptable:    {406, "Not acceptable"},
		SnapshotGone:     {412, "Snapshot gone"}, // 410 where APIError.Gone is set
		// only of bulk files
		RangeNotSatisfiable: {416, "Range not satisfiable"},
	})
	PreviewCodes = withSharedCodes(map[Code]Meaning{
		InvalidAPIKey:       {401, "Invalid API key"},
		InsufficientScope:   {403, "Key lacks the scope"},
		IdempotencyConflict: {409, "Idempotency conflict"},
	})
)

// APIError is an error that is sent to a client.
type APIError struct {
	Code   Code
	Detail string // one sentence for the client's developer; no secrets, no internals
	// RetryAfter is in whole seconds, at least 1, and equals the Retry-After header; 0 means no
	// header.
	RetryAfter int
	// Gone means that a snapshot will not return, so that no precondition can be met: 410, not 412.
	Gone bool
}

// Status returns the HTTP status of the error by its surface's table.
func (e *APIError) Status(codes map[Code]Meaning) int {
	if e.Gone {
		return 410
	}
	return codes[e.Code].Status
}

// AppendProblem appends the live surface's error body, application/problem+json.
func AppendProblem(dst []byte, baseURL string, apiErr APIError, requestID string) []byte {
	m := LiveCodes[apiErr.Code]

	dst = AppendText(dst, `{"type":`, baseURL+"/errors/"+string(apiErr.Code))
	dst = AppendText(dst, `,"title":`, m.Title)
	dst = AppendInt(dst, `,"status":`, int64(apiErr.Status(LiveCodes)))
	dst = AppendText(dst, `,"detail":`, apiErr.Detail)
	dst = AppendText(dst, `,"code":`, string(apiErr.Code))
	dst = AppendText(dst, `,"request_id":`, requestID)
	if apiErr.RetryAfter > 0 {
		dst = AppendInt(dst, `,"retry_after_seconds":`, int64(apiErr.RetryAfter))
	}

	return append(dst, '}')
}

// AppendEnvelope appends the preview contract's error body.
func AppendEnvelope(dst []byte, apiErr APIError, requestID string) []byte {
	dst = AppendText(dst, `{"error":{"code":`, string(apiErr.Code))
	dst = AppendText(dst, `,"message":`, apiErr.Detail)
	dst = AppendText(dst, `,"request_id":`, requestID)

	// The contract has the member always, unlike the live surface.
	if apiErr.RetryAfter <= 0 {
		return append(dst, `,"retry_after_seconds":null}}`...)
	}
	return append(AppendInt(dst, `,"retry_after_seconds":`, int64(apiErr.RetryAfter)), "}}"...)
}
