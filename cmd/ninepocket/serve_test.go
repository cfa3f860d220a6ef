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
	config := settings.Config{Store: "store", State: "state"}
	fleet := settings.Config{Store: "store", State: "state", Control: "postgres://u:secret@h/db"}
	other := errors.New("something else")
	f := func(config *settings.Config, stage node.Stage, cause error, code int, hint string) {
		t.Helper()
		failed, ok := errors.AsType[*exitError](serveFailure(&node.StartError{Stage: stage, Err: cause}, config))
		if !ok || failed.code != code || !strings.Contains(failed.hint, hint) || (hint == "") != (failed.hint == "") {
			t.Errorf("stage %d, %v: %+v, want code %d and hint %q", stage, cause, failed, code, hint)
		}
		if ok && strings.Contains(failed.hint, "secret") {
			t.Errorf("a password is shown: %s", failed.hint)
		}
	}

	f(&fleet, node.StageControl, other, exitNotReady, "")
	f(&fleet, node.StageKeys, registry.ErrNoKeys, exitNotReady, "keys create --control postgres://u:***@h/db")
	f(&config, node.StageKeys, node.ErrNoKeys, exitNotReady, "keys create --state state")
	f(&config, node.StageKeys, keys.ErrNoFile, exitNotReady, "look at --state")
	f(&config, node.StageKeys, keys.ErrDamaged, exitRefused, "restore keys.json")
	f(&config, node.StageCertificate, other, exitFailure, "")
	f(&config, node.StagePorts, syscall.EADDRINUSE, exitFailure, "another program holds the port")
	f(&config, node.StageAccessLog, other, exitFailure, "")
	f(&config, node.StageMirror, other, exitNotReady, "")
	f(&config, node.StageSnapshot, snapshot.ErrDamaged, exitNotReady, "build the snapshot again")
	f(&config, node.StageCursors, access.ErrCorrupt, exitRefused, "which removes it: the next start makes another")
	f(&config, node.StageJournal, access.ErrCorrupt, exitRefused, "state verify")
	f(&config, node.StageJournal, statedir.ErrLocked, exitFailure, "one state directory serves one process")
	f(&config, node.StageLimiter, other, exitNotReady, "fleet check")
}
