package framing

// Errors that are used in several places, or compared. The client gets their text.
var (
	errBadMethod    = malformed("the method must be upper-case letters")
	errBadTarget    = malformed("the request target must be a path without spaces, control characters or a fragment")
	errRepeated     = malformed("a header that may come once comes twice")
	errBadChunk     = malformed("a chunk must be its size in hexadecimal digits, CR LF, that many bytes and CR LF")
	errTrailers     = malformed("a chunked body must not have trailer fields")
	errBodyTooLarge = &RequestError{BodyTooLarge, "the body is too large"}
)

func malformed(reason string) *RequestError { return &RequestError{Malformed, reason} }
