package httpconn

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// sending is a connection that sends a file of n bytes.
func sending(t *testing.T, inner net.Conn, n int64) (done chan error) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, bytes.Repeat([]byte{'x'}, int(n)), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}

	open := &Connections{Timeouts: DefaultTimeouts}
	conn := open.Guard(inner)
	body := &FileBody{conn: conn, rest: io.LimitedReader{R: file, N: n}, done: file.Close}
	done = make(chan error, 1)
	go func() {
		sent, err := body.WriteTo(bufio.NewWriter(conn))
		if err == nil && sent != n {
			err = io.ErrShortWrite
		}
		err = errors.Join(err, body.Close())
		if err != nil {
			_ = inner.Close() // as fasthttp does
		}
		done <- err
	}()
	return done
}

// TestProgress lets clients read at a pace, in virtual time. A client that takes 64 KiB in less
// than ten seconds has the file after minutes. A client that takes less, or stops, is cut in the
// ten seconds after.
func TestProgress(t *testing.T) {
	const size = 4 << 20
	f := func(piece int, pause time.Duration, stopAt int, want bool) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			done := sending(t, server, size)
			began := time.Now()
			got := 0
			for buffer := make([]byte, piece); got < stopAt; time.Sleep(pause) {
				n, err := io.ReadFull(client, buffer)
				got += n
				if err != nil {
					break
				}
			}

			err := <-done
			took := time.Since(began)
			if (err == nil) != want {
				t.Errorf("%d bytes each %v: %d bytes after %v: %v", piece, pause, got, took, err)
			}
			if !want && !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the error is %v", err)
			}
			_ = client.Close()
		})
	}
	f(32<<10, 4900*time.Millisecond, size, true) // ten minutes
	f(64<<10, 9*time.Second, size, true)
	f(8<<10, time.Second, size, true)
	f(32<<10, 6*time.Second, size, false)
	f(64<<10, time.Second, 1<<20, false) // then it stops
	f(64<<10, time.Second, 0, false)
}

// TestAcknowledged counts the bytes that the other end of a TCP connection has taken, and not those
// that wait.
func TestAcknowledged(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	tcp := server.(*net.TCPConn) //nolint:forcetypeassert // it was accepted as TCP
	if _, ok := bytesAcknowledged(tcp); !ok {
		t.Skip("skipped: this system does not say what is acknowledged")
	}

	const size = 8 << 20
	done := sending(t, server, size)
	if n, err := io.CopyN(io.Discard, client, size); err != nil {
		t.Fatal(n, err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < size; n, _ = bytesAcknowledged(tcp) {
		time.Sleep(time.Millisecond) // until the system has acknowledged it
	}
	if n, _ := bytesAcknowledged(tcp); n != size {
		t.Errorf("%d bytes are acknowledged of %d", n, size)
	}
}
