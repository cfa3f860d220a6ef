package strict

// What is refused, in the words that the client is told.
var (
	errBadMethod = malformed("the method must be upper-case letters")
	errBadLine   = malformed("the request line must be a method, a target and a version " +
		"with one space between them")
	errBadVersion     = malformed("the version must be HTTP/1.1 or HTTP/1.0")
	errBadTarget      = malformed("the request target must be a path without spaces, control characters or a fragment")
	errOtherAuthority = malformed("the request target names another host than the Host header")
	errEmptyLines     = malformed("more than one empty line precedes the request line")
	errBareLF         = malformed("a line must end with CR LF")
	errBadName        = malformed("a header name must be a token that a colon follows at once")
	errFolded         = malformed("a header line must not begin with a space")
	errBadValue       = malformed("a header value must not have control characters")
	errRepeated       = malformed("a header that may come once comes twice")
	errNoHost         = malformed("HTTP/1.1 requires a Host header")
	errBadHost        = malformed("the Host header must be a host and a port")
	errBadLength      = malformed("Content-Length must be one decimal number")
	errBothLengths    = malformed("Content-Length and Transfer-Encoding exclude each other")
	errBadCoding      = malformed("Transfer-Encoding must be chunked, and HTTP/1.1")
	errBadExpectation = malformed("the only expectation that can be met is 100-continue")
	errBadChunk       = malformed("a chunk must be its size in hexadecimal digits, CR LF, that many bytes and CR LF")
	errExtension      = malformed("chunks must not have extensions")
	errTrailers       = malformed("a chunked body must not have trailer fields")
	errHeadTooLarge   = &Fault{HeadTooLarge, "the request line and headers are too large"}
	errTooManyFields  = &Fault{HeadTooLarge, "there are too many header lines"}
	errBodyTooLarge   = &Fault{BodyTooLarge, "the body is too large"}
	errUnwelcome      = &Fault{Unwelcome, "so large a body is read of known clients only"}
	errNoRoom         = &Fault{NoRoom, "other bodies take all the memory that bodies may take"}
)

func malformed(reason string) *Fault { return &Fault{Malformed, reason} }
