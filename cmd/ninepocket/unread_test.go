package main

import (
	"bufio"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestUnreadLog ends who reads the log, as when the system's journal is restarted: the server lives,
// takes over keys, of which it would tell, and drains.
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
