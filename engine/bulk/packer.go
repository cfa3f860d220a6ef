package bulk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

const (
	// window is how far back repetitions are found: more saves little, and readers need as much memory.
	window = 1 << 20
	// piece is how much is compressed at a time: some 50 µs of work between two rests.
	piece = 8 << 10
)

// packer compresses rows into a file. Its settings are fixed, so that equal rows make equal bytes.
type packer struct {
	ended   func() error // of the context
	step    func()
	file    disk.File
	encoder *zstd.Encoder
	sum     hash.Hash
	waiting []byte // rows that are not compressed yet
	about   File
	err     error // the first one

	// Memory for the next row.
	line   []byte
	points []snapshot.Point
}

// begin begins a file.
func (p *packer) begin(name string, file disk.File) {
	p.file = file
	p.about = File{Name: name, MediaType: "application/jsonl", Encoding: "zstd"}
	if strings.HasSuffix(name, ".csv.zst") {
		p.about.MediaType = "text/csv"
	}
	p.sum = sha256.New()
	if p.encoder == nil {
		p.encoder, p.err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(window),
			zstd.WithEncoderConcurrency(1))
	}
	p.encoder.Reset(p)
}

// Write writes compressed bytes.
func (p *packer) Write(b []byte) (int, error) {
	p.about.Bytes += int64(len(b))
	return io.MultiWriter(p.sum, p.file).Write(b)
}

// row adds a line, which counts as n rows. Its memory is that of the next one.
func (p *packer) row(line []byte, n int64) {
	p.step()
	p.line = line
	p.waiting = append(p.waiting, line...)
	p.about.Rows += n
	for len(p.waiting) >= piece && p.err == nil {
		p.compress(piece)
	}
}

// compress compresses the first n bytes that wait.
func (p *packer) compress(n int) {
	_, p.err = p.encoder.Write(p.waiting[:n])
	if p.err == nil {
		p.err = errors.Join(p.encoder.Flush(), p.ended())
	}
	p.waiting = append(p.waiting[:0], p.waiting[n:]...)
	p.step()
}

// end completes the file and describes it.
func (p *packer) end() (File, error) {
	if p.err == nil {
		p.compress(len(p.waiting))
	}
	if p.err == nil {
		p.err = p.encoder.Close()
	}
	p.about.SHA256 = hex.EncodeToString(p.sum.Sum(nil))
	return p.about, errors.Join(p.err, p.file.Close())
}
