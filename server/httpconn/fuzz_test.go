package httpconn

import (
	"slices"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// FuzzIfNoneMatch wants the parser of validators to find exactly what is there.
func FuzzIfNoneMatch(f *testing.F) {
	const tag = `"a000000000000"`
	for _, seed := range []string{tag, `*`, `W/` + tag + `, "b"`, tag[:4], `,`, `""`} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, list string) {
		ctx := &fasthttp.RequestCtx{}
		ctx.Request.Header.Set("If-None-Match", list)
		var call Call
		call.Begin(ctx, nil)
		got := call.Matches(10, "")
		want := false
		for one := range strings.SplitSeq(string(ctx.Request.Header.Peek("If-None-Match")), ",") {
			one = strings.TrimSpace(one)
			want = want || one == "*" || strings.TrimPrefix(one, "W/") == tag
		}

		if got != want {
			t.Fatalf("%q matches: %v, want %v", list, got, want)
		}
	})
}

// FuzzAcceptEncoding wants the negotiation to end in an encoding that there is.
func FuzzAcceptEncoding(f *testing.F) {
	for _, seed := range []string{
		"gzip", "gzip;q=0", "*;q=0.5, zstd;q=0", "identity;q=0", ";;;,,,", "gzip;q=NaN",
		"gzip;q=1e9",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, accept string) {
		got := pickEncoding([]byte(accept))
		if !slices.Contains([]string{"", "gzip", "zstd"}, got) {
			t.Fatalf("encoding %q", got)
		}
		if lower := strings.ToLower(accept); got != "" && !strings.Contains(lower, got) &&
			!strings.Contains(lower, "*") {
			t.Fatalf("%q is not asked for in %q", got, accept)
		}
	})
}

// FuzzAccept wants a media type that is preferred to be named, and never each of two before the other.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{
		"text/csv", "text/csv, */*", "text/csv;q=0.9, application/json;q=0.8", "text/*", "TEXT/CSV;charset=utf-8;q=1",
		"text/csv;q=0", "text/csv;q=x", ";,=q", "application/*;q=0.1,text/csv;q=0.2",
	} {
		f.Add(seed)
	}

	f.Fuzz(func(t *testing.T, accept string) {
		const csv, plain = "text/csv", "application/json"
		got := Prefers([]byte(accept), csv, plain)
		if got && (!strings.Contains(strings.ToLower(accept), csv) || !Accepts([]byte(accept), csv)) {
			t.Fatalf("CSV is not asked for in %q", accept)
		}
		if got && Prefers([]byte(accept), plain, csv) {
			t.Fatalf("%q prefers each to the other", accept)
		}
	})
}
