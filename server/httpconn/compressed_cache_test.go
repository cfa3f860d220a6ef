package httpconn

import (
	"bytes"
	"compress/gzip"
	"hash/maphash"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// unpack reads a body as the strictest client would: one gzip member or one zstd frame, and nothing after it.
func unpack(t *testing.T, body []byte, encoding string) []byte {
	t.Helper()
	if encoding == "zstd" {
		d, err := zstd.NewReader(nil, zstd.WithDecoderMaxMemory(64<<20))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		plain, err := d.DecodeAll(body, nil)
		if err != nil {
			t.Fatalf("%d bytes of zstd: %v", len(body), err)
		}
		if n := bytes.Count(body, []byte("\x28\xb5\x2f\xfd")); n != 1 {
			t.Fatalf("%d zstd frames", n)
		}
		return plain
	}

	in := bytes.NewReader(body)
	z, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}

	z.Multistream(false)
	plain, err := io.ReadAll(z) // compares length and checksum
	if err != nil || in.Len() != 0 {
		t.Fatalf("%d bytes of gzip: %v, %d bytes follow", len(body), err, in.Len())
	}
	return plain
}

// TestPacked packs bodies of many sizes with ends of many sizes and unpacks them with other programs' readers.
func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = "abcdefgh\x00\xff"[r.IntN(10)]
	}

	text := []byte(strings.Repeat(`{"id":"card_abc","name":"Pikachu","price":123},`, 10_000))
	for _, source := range [][]byte{noise, text} {
		for _, begin := range []int{0, 1, 100, 1024, 20_000, 65_535, 65_536, 131_072, 290_000} {
			for _, end := range []int{0, 1, 30, 600, maxPlainTail} {
				for _, encoding := range []string{"gzip", "zstd"} {
					whole := source[:min(begin+end, len(source))]
					begin := min(begin, len(whole))
					packed := appendCompressed([]byte("x"), whole[:begin], encoding)
					packed = appendTail(packed, whole[begin:], encoding, checksum(whole[:begin], encoding), len(whole))
					if packed[0] != 'x' || !bytes.Equal(unpack(t, packed[1:], encoding), whole) {
						t.Fatalf("%s of %d and %d bytes is another body", encoding, begin, end)
					}
					if !bytes.Equal(unpack(t, Compressed(whole, encoding), encoding), whole) {
						t.Fatalf("%s of %d bytes is another body", encoding, len(whole))
					}
				}
			}
		}
	}
}

// TestPacksCollide gives two bodies one key: what comes back is always of the body that was asked for.
func TestPacksCollide(t *testing.T) {
	p := NewCompressedCache(1 << 20)
	defer p.Close()
	ours := []byte(strings.Repeat("ours ", 300))
	theirs := []byte(strings.Repeat("them ", 300))
	through := func(plain []byte) []byte {
		packed, sum := p.append(nil, plain, "gzip", true)
		return unpack(t, appendTail(packed, nil, "gzip", sum, len(plain)), "gzip")
	}
	packed := appendCompressed(nil, theirs, "gzip")
	p.cache.Set(maphash.Bytes(p.seed, ours)^'g', &compressedBody{theirs, packed, checksum(theirs, "gzip")}, 1)
	p.cache.Wait()
	if got := through(ours); !bytes.Equal(got, ours) || p.hits.Load() != 0 {
		t.Errorf("got %.20q, %d hits", got, p.hits.Load())
	}

	for range 3 {
		if got := through(ours); !bytes.Equal(got, ours) {
			t.Errorf("got %.20q", got)
		}
		p.cache.Wait()
	}

	if p.hits.Load() != 2 || p.misses.Load() != 2 { // compressed once, cached, and found twice
		t.Errorf("%d hits, %d misses", p.hits.Load(), p.misses.Load())
	}
	if got, _ := p.append(nil, ours, "zstd", true); !bytes.Equal(got[:4], []byte("\x28\xb5\x2f\xfd")) {
		t.Errorf("zstd begins with %x", got[:4])
	}
}
