package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ninepocket/fleet/mirror"
	"ninepocket/internal/fixture"
	"ninepocket/internal/postgrestest"
	"ninepocket/internal/s3test"
	"ninepocket/snapshot"
)

// TestFleetCheckReadsTheStore reads the store like a server with an empty folder. The epochs that
// servers reported reveal an old CURRENT that was put back.
func TestFleetCheckReadsTheStore(t *testing.T) {
	c := newFleetKit(t)
	model := s3test.Start(t)
	place, err := mirror.ParseLocation(model.Place("prod"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := mirror.CreateKey(filepath.Join(t.TempDir(), "key"), "ops")
	if err != nil {
		t.Fatal(err)
	}
	operator := snapshot.OpenStore(t.TempDir())
	m, _, err := operator.Write(fixture.Random(1, fixture.Small).Catalog(), snapshot.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = mirror.Open(place).Push(t.Context(), operator, m.ID, mirror.PushOptions{Now: time.Now(), Key: key})
	if err != nil {
		t.Fatal(err)
	}

	// All of it from a configuration, as a server has it.
	config := filepath.Join(t.TempDir(), "ninepocket.toml")
	text := fmt.Sprintf("control = %q\nstore = %q\nstore_cache = \"cache\"\npublishers = [%q]\n", c.control,
		model.Place("prod"), key.Publisher())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	check := func(want string) {
		t.Helper()
		out, _ := c.does(exitRefused, "fleet", "check", "--config", config) // the database runs without fsync
		if !strings.Contains(out, want) {
			t.Errorf("%s\nlacks %s", out, want)
		}
	}
	check("good   s3://")
	check("epoch 1, snapshot " + m.ID + ", signed by ops")

	postgrestest.Start(t).SQL(t, c.control,
		"insert into ninepocket.servers (incarnation, session, host, version, epoch) "+
			"values ('s1', 's', 'h', 'v', 4)")
	check("epoch 1 is published, this fleet served 4: refused as a rollback; publish again, with --above that one\n" +
		"       ninepocket snapshot pull --store")
}
