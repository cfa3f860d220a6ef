package strict

// What is refused, in the words that the client is told.
var (
	badMethod      = malformed("the method must be upper-case letters")
	badLine        = malformed("the request line must be a method, a target and a version with one space between them")
	badVersion     = malformed("the version must be HTTP/1.1 or HTTP/1.0")
	badTarget      = malformed("the request target must be a path without spaces, control characters or a fragment")
	otherAuthority = malformed("the request target names another host than the Host header")
	emptyLines     = malformed("more than one empty line precedes the request line")
	bareLF         = malformed("a line must end with CR LF")
	badName        = malformed("a header name must be a token that a colon follows at once")
	folded         = malformed("a header line must not begin with a space")
	badValue       = malformed("a header value must not have control characters")
	repeated       = malformed("a header that may come once comes twice")
	noHost         = malformed("HTTP/1.1 requires a Host header")
	badHost        = malformed("the Host header must be a host and a port")
	badLength      = malformed("Content-Length must be one decimal number")
	bothLengths    = malformed("Content-Length and Transfer-Encoding exclude each other")
	badCoding      = malformed("Transfer-Encoding must be chunked, and HTTP/1.1")
	badExpectation = malformed("the only expectation that can be met is 100-continue")
	badChunk       = malformed("a chunk must be its size in hexadecimal digits, CR LF, that many bytes and CR LF")
	extension      = malformed("chunks must not have extensions")
	trailers       = malformed("a chunked body must not have trailer fields")
	headTooLarge   = &Fault{HeadTooLarge, "the request line and headers are too large"}
	tooManyFields  = &Fault{HeadTooLarge, "there are too many header lines"}
	bodyTooLarge   = &Fault{BodyTooLarge, "the body is too large"}
)

func malformed(reason string) *Fault { return &Fault{Malformed, reason} }
