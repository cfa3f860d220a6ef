package bulk

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"github.com/klauspost/compress/zstd"

	"ninepocket/internal/disk"
)

const (
	// window is how far back repetitions are found: more saves little, and readers need as much memory.
	window = 1 << 20
	// piece is how much is compressed at a time: some 200 µs of work between two rests.
	piece = 32 << 10
)

// newEncoder returns an encoder with fixed settings, so that equal rows make equal bytes.
func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window),
		zstd.WithEncoderConcurrency(1))
}

// packer compresses rows into a file.
type packer struct {
	ctx     context.Context
	step    func()
	encoder *zstd.Encoder
	file    disk.File
	sum     hash.Hash
	waiting []byte // rows that are not compressed yet
	rows    int64
	bytes   int64
	err     error // the first one
}

// begin begins a file.
func (p *packer) begin(file disk.File) {
	p.file = file
	p.sum = sha256.New()
	p.rows = 0
	p.bytes = 0
	p.encoder.Reset(p)
}

// Write writes compressed bytes.
func (p *packer) Write(b []byte) (int, error) {
	_, _ = p.sum.Write(b) // it never fails
	n, err := p.file.Write(b)
	p.bytes += int64(n)
	return n, err
}

// row adds a text that counts as n rows, and reports whether more are wanted.
func (p *packer) row(text []byte, n int64) bool {
	p.step()
	p.waiting = append(p.waiting, text...)
	p.rows += n
	if len(p.waiting) >= piece {
		p.flush()
	}
	return p.err == nil
}

// flush compresses the rows that wait. A long line is cut into pieces, too.
func (p *packer) flush() {
	for rest := p.waiting; len(rest) > 0 && p.err == nil; {
		n := min(piece, len(rest))
		_, p.err = p.encoder.Write(rest[:n])
		if p.err == nil {
			p.err = p.encoder.Flush()
		}
		rest = rest[n:]
		p.step()
		if p.err == nil {
			p.err = p.ctx.Err()
		}
	}
	p.waiting = p.waiting[:0]
}

// end completes the file and describes it.
func (p *packer) end(name string) (File, error) {
	p.flush()
	if p.err == nil {
		p.err = p.encoder.Close()
	}
	if p.err == nil {
		p.err = p.file.Sync()
	}
	return File{Name: name, Bytes: p.bytes, Rows: p.rows, SHA256: hex.EncodeToString(p.sum.Sum(nil))}, p.err
}
