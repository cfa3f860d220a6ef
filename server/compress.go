package server

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

// compressFrom is the size from which bodies are compressed when asked for (decision 9): below it the headers weigh
// more than what is saved.
const compressFrom = 1 << 10

// encoding picks the content encoding of a body of n bytes from Accept-Encoding: gzip or zstd by weight, zstd on a
// tie, "" for none.
func (x *exchange) encoding(n int) string {
	if n < compressFrom {
		return ""
	}
	accept := x.asked.accept
	if x.asked.repeated&repeatedAccept != 0 {
		accept = x.field(fasthttp.HeaderAcceptEncoding)
	}
	if len(accept) == 0 {
		return ""
	}
	return pickEncoding(accept)
}

// pickEncoding reads an Accept-Encoding list (RFC 9110, 12.5.3).
func pickEncoding(accept []byte) string {
	weights := map[string]float64{}
	for item := range bytes.SplitSeq(accept, []byte{','}) {
		name, params, _ := bytes.Cut(item, []byte{';'})
		weight := 1.0
		if q, ok := bytes.CutPrefix(bytes.ToLower(bytes.TrimSpace(params)), []byte("q=")); ok {
			parsed, err := strconv.ParseFloat(string(q), 64)
			if err != nil || parsed < 0 || parsed > 1 {
				continue
			}
			weight = parsed
		}
		weights[string(bytes.ToLower(bytes.TrimSpace(name)))] = weight
	}
	best, top := "", 0.0
	for _, name := range []string{"zstd", "gzip"} {
		weight, named := weights[name]
		if !named {
			weight = weights["*"]
		}
		if weight > top {
			best, top = name, weight
		}
	}
	if identity, named := weights["identity"]; named && identity > top {
		return ""
	}
	return best
}

var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is a valid constant
	return w
}}

// zstdEncoder is safe for concurrent EncodeAll calls.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(1<<17)) // the options are valid constants
	return w
})

func compressed(content []byte, encoding string) []byte {
	if encoding == "zstd" {
		return zstdEncoder().EncodeAll(content, make([]byte, 0, len(content)/3))
	}
	var out bytes.Buffer
	out.Grow(len(content) / 3)
	w, _ := gzipWriters.Get().(*gzip.Writer)
	w.Reset(&out)
	_, _ = w.Write(content) // a bytes.Buffer does not fail
	_ = w.Close()
	gzipWriters.Put(w)
	return out.Bytes()
}
