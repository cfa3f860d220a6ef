package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUnreadLog ends who reads the log, as when the system's journal is restarted: the server lives,
// reloads keys, which it would log, and drains.
func TestUnreadLog(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	pipe := filepath.Join(p.dir, "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}

	unread := make(chan error, 1)
	go func() {
		log, err := os.Open(pipe)
		if err != nil {
			unread <- err
			return
		}
		for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), " serving "); {
			continue
		}
		unread <- log.Close()
	}()
	p.serve(t, nil, "exec 2>log")
	if err := <-unread; err != nil {
		t.Fatal(err)
	}

	p.key = anotherTenant(t, p.dir, "later", "--surface", "live", "--plan", "free")
	p.eventually(t, "take a new key over", func() bool {
		_, err := p.get(t.Context(), http.DefaultClient, "/v1/games")
		return err == nil
	})
	p.signal(t, syscall.SIGTERM)
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestHungLog stops the readers of the log and of the access log, with the pipe full. Requests are
// answered, new keys are loaded, and a drain ends.
func TestHungLog(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	pipe := filepath.Join(p.dir, "log")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(pipe, os.O_RDWR, 0) // it reads nothing
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })

	p.serve(t, nil, "exec >log 2>log", "--access-log", "-")
	for _, size := range []int{4096, 1} {
		if err := log.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = log.Write(bytes.Repeat([]byte{'.'}, size))
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		err = nil
	}

	for i := range 3 {
		p.key = anotherTenant(t, p.dir, fmt.Sprint("later", i), "--surface", "live", "--plan", "free")
		p.eventually(t, "take a new key over", func() bool {
			_, err := p.get(t.Context(), http.DefaultClient, "/v1/games")
			return err == nil
		})
	}

	begun := time.Now()
	p.signal(t, syscall.SIGTERM)
	p.ends(t, exitOK)
	t.Logf("the drain took %v", time.Since(begun).Round(time.Millisecond))

	// A start that fails says why, and ends although nobody reads that.
	p.cmd = exec.Command("/bin/sh", "-c", `exec 2>log && exec "$0" "$@"`, p.cmd.Args[3],
		"serve", "--store", "none", "--state", "state", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0")
	p.cmd.Dir = p.dir
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.ends(t, exitNotReady)
}

// ends wants the process to end by itself, before a service manager would kill it.
func (p *program) ends(t *testing.T, code int) {
	t.Helper()
	ended := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
		if got := p.cmd.ProcessState.ExitCode(); got != code {
			t.Errorf("the server ended with %v, want exit code %d", p.cmd.ProcessState, code)
		}
	case <-time.After(30 * time.Second):
		_ = p.cmd.Process.Kill()
		<-ended
		t.Error("the server has not ended within 30 s")
	}
}
