package main

import (
	"encoding/json"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ninepocket/internal/s3test"
)

// TestFleetScript runs the commands for releases of many servers, with a server that follows.
// The script reaches into the store for what only a thief or an accident does.
func TestFleetScript(t *testing.T) {
	path := scriptPath(t)
	model := s3test.Start(t)
	object := func(name string) string { return "fleet/" + name }
	careless := func(careless bool) func(*testscript.TestScript, bool, []string) {
		return func(*testscript.TestScript, bool, []string) { model.IgnoreConditions(careless) }
	}

	testscript.Run(t, testscript.Params{
		Dir: "testdata/mirror",
		Setup: func(env *testscript.Env) error {
			if path != "" {
				env.Setenv("PATH", path+string(os.PathListSeparator)+env.Getenv("PATH"))
			}
			env.Setenv("PLACE", model.Place("fleet"))
			env.Setenv("OTHER", "ops-2026-b:"+strings.Repeat("A", 43)+"=")
			for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "field": field, "serve": serveWith, "get": getScript, "drain": stopScript,
			"live": live, "careless": careless(true), "careful": careless(false),
			"keep": func(_ *testscript.TestScript, _ bool, args []string) {
				model.Put(object("kept/"+args[1]), model.Get(object(args[0])))
			},
			"restore": func(_ *testscript.TestScript, _ bool, args []string) {
				from := args[1]
				if !strings.Contains(from, "/") {
					from = "kept/" + from
				}
				model.Put(object(args[0]), model.Get(object(from)))
			},
		},
	})
}

// serveWith is serveScript of a server that gets the environment of the script.
func serveWith(ts *testscript.TestScript, neg bool, args []string) {
	args = append(args, "--store", ts.Getenv("NINEPOCKET_STORE"), "--config", ts.MkAbs("publishers.toml"))
	ts.Check(os.WriteFile(ts.MkAbs("publishers.toml"),
		[]byte(`publishers = ["`+ts.Getenv("NINEPOCKET_PUBLISHERS")+`"]`), 0o600))
	serveScript(ts, neg, args)
}

// live waits until the server serves a release: live ID EPOCH
func live(ts *testscript.TestScript, _ bool, args []string) {
	for range 600 {
		getScript(ts, false, []string{"200", "-", ts.Getenv("ADMIN") + "/-/snapshot"})
		var now struct {
			SnapshotID string `json:"snapshot_id"`
			Epoch      uint64 `json:"epoch"`
		}
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("body")), &now))
		if now.SnapshotID == args[0] && strconv.FormatUint(now.Epoch, 10) == args[1] {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("%s is not live: %s", args[0], ts.ReadFile("body"))
}
