package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ninepocket/internal/disk/disktest"
)

// TestFaultsAtTheStart lets folders be unreadable when the server starts. A service manager tries
// that again, so the exit code is 1, and the hint is of the cause: neither keys nor a snapshot are
// missing.
func TestFaultsAtTheStart(t *testing.T) {
	t.Parallel()
	hints := map[syscall.Errno]string{
		syscall.EACCES: " the user that ", syscall.EIO: "hint: the disk of",
		syscall.EMFILE: "hint: the process has no file descriptor left", syscall.ESTALE: "hint: the mount of",
	}

	p := newProgram(t)
	config := filepath.Join(p.dir, "config")
	err := errors.Join(os.Mkdir(config, 0o700), os.WriteFile(filepath.Join(config, "ninepocket.toml"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	for errno, hint := range hints {
		for _, folder := range []string{"store", "state", "config"} {
			code, text := p.startsWith(t, func(call disktest.Call) disktest.Effect {
				if opens(call) && touches(call, folder) {
					return disktest.Effect{Fail: errno}
				}
				return disktest.Effect{}
			})
			if code != exitFailure || !strings.Contains(text, hint) || strings.Contains(text, "keys create") ||
				strings.Contains(text, "snapshot build") {
				t.Errorf("%s while %s is opened: exit code %d\n%s", errno, folder, code, text)
			}
		}
	}
}

// startsWith starts a server whose disk follows a rule, and that ends by itself.
func (p *program) startsWith(t *testing.T, rule disktest.Rule) (code int, text string) {
	t.Helper()
	injector := newFaultInjector(t)
	injector.Set(rule)
	path, err := exec.LookPath("ninepocket")
	if err != nil {
		t.Fatal(err)
	}

	var out bytes.Buffer
	cmd := exec.Command(path, "serve", "--store", "store", "--state", "state", "--listen", "127.0.0.1:0",
		"--admin", "127.0.0.1:0", "--config", "config/ninepocket.toml")
	cmd.Dir = p.dir
	cmd.Stderr = &out
	if err := injector.Start(cmd); err != nil {
		t.Fatal(err)
	}
	err = cmd.Wait()
	ended, failed := errors.AsType[*exec.ExitError](err)
	if !failed {
		t.Fatalf("the server ended well: %v\n%s", err, &out)
	}
	return ended.ExitCode(), out.String()
}
