package accesstest

import (
	"errors"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
)

// suspension suspends a tenant with calls in flight: these are charged, and no other call is made.
// After the suspension the tenant has its usage and its replies again.
func suspension(b *bench) {
	for range 3 {
		b.do("small", access.CardsGet)
	}
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	b.commit(decision, claim, "a reply")
	flying := b.want("small", access.CardsGet, access.Admitted)
	batch, open := b.begin("org", "late", 2, access.Fresh)

	for _, tenant := range []string{"small", "org"} {
		if err := b.file.Suspend(tenant, b.now.Time()); err != nil {
			b.t.Fatal(err)
		}
	}
	b.reload()
	for _, name := range []string{"small", "small2", "org", "org2"} {
		if _, err := b.ring.FindCached([]byte(b.raw[name]), b.now.Wall, nil); !errors.Is(err, keys.ErrSuspended) {
			b.t.Fatalf("%s: %v", name, err)
		}
	}
	b.do("wide", access.CardsGet)
	b.finish(flying, true, 1)
	b.commit(batch, open, "late")

	b.sleep(time.Second)
	for _, tenant := range []string{"small", "org"} {
		if err := b.file.Resume(tenant, b.now.Time()); err != nil {
			b.t.Fatal(err)
		}
	}
	b.reload()
	b.used("small", 4)
	b.used("org", 2)
	b.do("small", access.CardsGet)
	b.want("small", access.CardsGet, access.RateLimited)
	for key, body := range map[string]byte{"k": 1, "late": 2} {
		b.begin("org2", key, body, access.Replay)
	}
}
