package main

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/internal/registry"
	"ninepocket/internal/settings"
	"ninepocket/node"
	"ninepocket/snapshot"
)

// TestFailuresOfAStart gives errors of each stage: exit code and hint are those of the cause.
func TestFailuresOfAStart(t *testing.T) {
	t.Parallel()
	c := settings.Config{Store: "store", State: "state"}
	fleet := settings.Config{Store: "store", State: "state", Control: "postgres://u:secret@h/db"}
	other := errors.New("something else")
	f := func(c *settings.Config, stage node.Stage, cause error, code int, hint string) {
		t.Helper()
		failed, ok := errors.AsType[*failure](serveFailure(&node.StartError{Stage: stage, Err: cause}, c))
		if !ok || failed.code != code || !strings.Contains(failed.hint, hint) || (hint == "") != (failed.hint == "") {
			t.Errorf("stage %d, %v: %+v, want code %d and hint %q", stage, cause, failed, code, hint)
		}
		if ok && strings.Contains(failed.hint, "secret") {
			t.Errorf("a password is shown: %s", failed.hint)
		}
	}

	f(&fleet, node.StageControl, other, exitNotReady, "")
	f(&fleet, node.StageKeys, registry.ErrNoKeys, exitNotReady, "keys create --control postgres://u:***@h/db")
	f(&c, node.StageKeys, node.ErrNoKeys, exitNotReady, "keys create --state state")
	f(&c, node.StageKeys, keys.ErrNoFile, exitNotReady, "look at --state")
	f(&c, node.StageKeys, keys.ErrDamaged, exitRefused, "restore keys.json")
	f(&c, node.StageCertificate, other, exitFailure, "")
	f(&c, node.StagePorts, syscall.EADDRINUSE, exitFailure, "another program holds the port")
	f(&c, node.StageAccessLog, other, exitFailure, "")
	f(&c, node.StageMirror, other, exitNotReady, "")
	f(&c, node.StageSnapshot, snapshot.ErrDamaged, exitNotReady, "build the snapshot again")
	f(&c, node.StageCursors, access.ErrCorrupt, exitRefused, "which removes it: the next start makes another")
	f(&c, node.StageJournal, access.ErrCorrupt, exitRefused, "state verify")
	f(&c, node.StageJournal, statedir.ErrLocked, exitFailure, "one state directory serves one process")
	f(&c, node.StageMeter, other, exitNotReady, "fleet check")
}
