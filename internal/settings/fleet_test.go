package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"ninepocket/fleet/limiter"
)

func TestFleetSettings(t *testing.T) {
	config := Default()
	config.Fleet.Lease = "0"
	config.Metering = "redis://cache"
	got, export, err := config.FleetOptions()
	want := limiter.Options{
		URL: "redis://cache", Acks: limiter.AcksReplica, Replicas: 1, Timeout: 100 * time.Millisecond, Prefix: "np",
		MaxIdempotencyRecords: config.MaxIdempotencyRecords,
	}
	diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(limiter.Options{}))
	if err != nil || diff != "" || export != 5*time.Second {
		t.Errorf("the defaults without leases, reported every %s, %v: %s", export, err, diff)
	}

	// Every problem is named, not the first one.
	config.Fleet = Fleet{Acks: "all", Replicas: 0, Timeout: "1ms", Lease: "-1s", Export: "soon", Prefix: "a b"}
	_, _, err = config.FleetOptions()
	if err == nil {
		t.Fatal("nonsense is taken")
	}
	for _, part := range []string{
		`fleet.acks "all"`, "fleet.replicas 0", `fleet.timeout "1ms"`, `fleet.lease "-1s"`, `fleet.export "soon"`,
		`fleet.prefix "a b"`,
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}

func TestFleetAddresses(t *testing.T) {
	f := func(metering, control, want string) {
		t.Helper()
		config := Default()
		config.Metering = metering
		config.Control = control
		err := config.Validate()
		switch {
		case want == "" && err != nil:
			t.Errorf("%q and %q: %v", metering, control, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q and %q: %v, want %q", metering, control, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("a password is shown: %v", err)
		}
	}

	const control = "postgres://np:secret@db.internal:5432/cards?sslmode=verify-full"
	f("", "", "")
	f("", control, "")
	f("redis://cache", control, "")
	f("rediss://np:secret@cache:6379/0", control, "")
	f("redis+sentinel://np:secret@a:26379,b:26379,c:26379/cards", control, "")
	f("redis://cache", "", "cannot serve without --control: a fleet bills from one ledger")
	f("http://cache", control, "cannot use metering")
	f("redis://:secret@a,b/0", control, `cannot use metering "redis://:***@a,b/0"`)
	f("redis+sentinel://a,,b/cards", control, "cannot use metering")
	f("redis+sentinel://a,b", control, "cannot use metering")
	f("redis://a/first", control, "cannot use metering")
	f("", "postgresql:///cards?host=/run/postgresql", "")
	f("", "postgres://np:secret@db", "want postgres://USER@HOST/DATABASE")
	f("", "mysql://np:secret@db/cards", `cannot use control "mysql://np:***@db/cards"`)
	f("", "postgres://np:secret@db:port:7/%zz", "it is not a URL")
	f("", "postgres://np:a@secret@db/cards", "write an @ of its password as %40")
	f("", "postgres://np:a%40secret@db/cards?user=a@b", "")
	f("", "host=db password=secret", "cannot use control")
}
