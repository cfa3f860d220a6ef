package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"
	"golang.org/x/sync/errgroup"
)

// script has the responses of the bare servers: for each operation those of the original, in turn.
type script map[string][]scripted

// scripted is one response of the original, without the headers that fasthttp writes itself.
type scripted struct {
	Header [][2][]byte // names and values
	Body   []byte
}

// record sends every request of an operation to the original and returns the responses.
func record(address string, op *Operation) ([]scripted, error) {
	conn, err := dial(address)
	if err != nil {
		return nil, err
	}

	// The responses are complete, or their error is returned.
	defer func() { _ = conn.Close() }()
	var all []scripted
	for i := range op.Requests {
		r := &op.Requests[i]
		if r.Digits > 0 {
			r.number(uniqueCounter.Add(1))
		}

		a, err := conn.roundTrip(r.Bytes)
		if err != nil {
			return nil, fmt.Errorf("cannot record %s: %w", op.Name, err)
		}
		if a.status != http.StatusOK {
			return nil, fmt.Errorf("cannot record %s: the server answered %d: %s", op.Name, a.status, a.body)
		}
		all = append(all, scripted{headerLines(a.header), bytes.Clone(a.body)})
	}
	return all, nil
}

// uniqueCounter numbers the requests that must be unique over all operations, rounds and servers.
var uniqueCounter atomic.Uint64

// headerLines returns the header's names and values, without those that every fasthttp server
// writes.
func headerLines(header []byte) [][2][]byte {
	var lines [][2][]byte
	for line := range strings.SplitSeq(string(header), "\r\n") {
		name, value, ok := strings.Cut(line, ": ")
		if ok && name != "Server" && name != "Date" && name != "Content-Type" && name != "Content-Length" {
			lines = append(lines, [2][]byte{[]byte(name), []byte(value)})
		}
	}
	return lines
}

// serveBare serves each operation on a separate port, so that it needs no routing.
func (t *Task) serveBare(ctx context.Context) error {
	text, err := os.ReadFile(t.Script)
	if err != nil {
		return fmt.Errorf("cannot read the script: %w", err)
	}

	var script script
	if err := json.Unmarshal(text, &script); err != nil {
		return fmt.Errorf("cannot read the script %q: %w", t.Script, err)
	}

	ready := Ready{Addresses: map[string]string{}}
	var group errgroup.Group
	for name, answers := range script {
		if t.BodyOnly {
			for i := range answers {
				answers[i].Header = nil
			}
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		ready.Addresses[name] = l.Addr().String()
		srv := bareServer(answers)
		group.Go(func() error { return srv.Serve(l) })
		group.Go(func() error { <-ctx.Done(); return l.Close() })
	}

	if err := WriteReady(t.Ready, ready); err != nil {
		return err
	}
	if err := group.Wait(); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// bareServer sends the next response to every request and does nothing else: no route, no key, no
// limits, no timeouts. Its buffers have the sizes of those of package server.
func bareServer(answers []scripted) *fasthttp.Server {
	var turn atomic.Uint32
	return &fasthttp.Server{
		Handler: func(ctx *fasthttp.RequestCtx) {
			a := &answers[turn.Add(1)%uint32(len(answers))]
			h := &ctx.Response.Header
			h.SetContentType("application/json")
			for i := range a.Header {
				h.SetCanonical(a.Header[i][0], a.Header[i][1])
			}

			ctx.Response.SetBodyRaw(a.Body)
		},
		Name: "ninepocket", ReadBufferSize: 16 << 10, WriteBufferSize: 32 << 10, NoDefaultContentType: true,
	}
}
