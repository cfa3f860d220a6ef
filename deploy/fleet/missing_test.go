package fleet_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"ninepocket/deploy/fleet"
)

// TestMissing checks that each missing program is reported with its package, and that nothing is started.
func TestMissing(t *testing.T) {
	empty := t.TempDir()
	for _, name := range []string{"PATH", "HOME", "GOPATH"} {
		t.Setenv(name, empty)
	}

	_, err := fleet.Start(t.Context(), fleet.Options{Binary: "ninepocket", Folder: empty, Listen: "127.0.0.1:0"})
	for _, line := range []string{
		"cannot find redis-server: install it: apt-get install redis-server",
		"cannot find redis-sentinel: install it: apt-get install redis-sentinel",
		"cannot find versitygw: install it: go install github.com/versity/versitygw/cmd/versitygw@v1.8.0",
	} {
		if err == nil || !strings.Contains(err.Error()+"\n", line+"\n") {
			t.Errorf("%v lacks %q", err, line)
		}
	}
}

// TestTakenAddress checks that a fleet does not start on an address in use, and reports the remedy.
func TestTakenAddress(t *testing.T) {
	if err := fleet.Missing(); err != nil {
		t.Skip("a part of a fleet is not installed")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens at once
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	_, err = fleet.Start(t.Context(), fleet.Options{
		Binary: "ninepocket", Folder: t.TempDir(), Listen: l.Addr().String(),
	})
	if !errors.Is(err, fleet.ErrAddress) {
		t.Errorf("a fleet at an address that is taken: %v", err)
	}
}
