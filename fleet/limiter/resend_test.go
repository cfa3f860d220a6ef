package limiter

import (
	"strings"
	"testing"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/redistest"
)

// TestStoredRepliesAreResent empties Redis after two batches: the server that answered them enters
// their replies again before anybody may call, so that sent again they are answered as before, for
// nothing. A key that another call has by then stays with it.
func TestStoredRepliesAreResent(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	age(t, r, "np")
	s := startServer(t, r.URL(), "np", nil)
	p := newTenants(t, keys.Preview, keys.Plan{PerMinute: 900, Credits: 5}, "one").principal(t, "one")
	for _, key := range []string{"kept", "taken"} {
		call := s.admit(p, access.PricesBatch)
		claim, err := s.Begin(call.Reservation, key, access.BodyHash{1}, s.now())
		if err != nil || claim.Result != access.Fresh {
			t.Fatal(claim, err)
		}
		if _, err := s.Commit(call.Reservation, claim, []byte("the answer to "+key)); err != nil {
			t.Fatal(err)
		}
	}
	r.Try("FLUSHALL")
	rk := s.redisKeys("one")
	r.Try("HSET", rk.record(access.PricesBatch, "taken"), "h", "other", "o", "other", "c", "99999999999999")
	eventually(t, "the replies are offered", func() bool {
		return r.Try("HGET", rk.record(access.PricesBatch, "kept"), "d") != ""
	})

	other := startServer(t, r.URL(), "np", nil)
	var claim access.Claim
	eventually(t, "it is answered as before", func() bool {
		r.Try("DEL", rk.key("z")) // a minute later
		other.client.state.Load().cooldownUntil.Store(0)
		call := other.admit(p, access.PricesBatch)
		if call.Result != access.Admitted {
			return false
		}
		var err error
		claim, err = other.Begin(call.Reservation, "kept", access.BodyHash{1}, other.now())
		return err == nil
	})
	if claim.Result != access.Replay || string(claim.Reply) != "the answer to kept" {
		t.Errorf("%+v", claim)
	}
	eventually(t, "usage is what was charged", func() bool {
		usage, err := other.Usage(p, access.SpecFor(p, access.UsageGet), other.now())
		return err == nil && usage.Used == 2
	})
	if has := r.Try("HGET", rk.record(access.PricesBatch, "taken"), "o"); has != "other" {
		t.Errorf("a key that another call has is taken from it: %q", has)
	}
}

// TestLateRepliesAreResent stores a reply while a server reports its replies to another Redis. The
// new reply is reported with the others.
func TestLateRepliesAreResent(t *testing.T) {
	t.Parallel()
	r := redistest.Start(t)
	age(t, r, "np")
	s := startServer(t, r.URL(), "np", nil)
	p := newTenants(t, keys.Preview, keys.Plan{PerMinute: 900, Credits: 5}, "one").principal(t, "one")
	s.admit(p, access.PricesBatch)

	exchanges := 0
	offered := 0
	err := s.resync(func(all []*queuedCommand) error {
		exchanges++
		if exchanges == 1 {
			s.resends.add(&pendingKey{record: "record", claim: "claim"}, "times", s.now().Wall, "late")
		}
		for _, one := range all {
			if one.script == scriptOffer {
				offered++
			}
		}
		return nil
	}, true, 0)
	if err != nil || exchanges != 2 || offered != 1 {
		t.Errorf("%d replies are offered in %d exchanges: %v", offered, exchanges, err)
	}
}

// TestResendsAreBounded keeps no reply longer than Redis does, and no more than fit.
func TestResendsAreBounded(t *testing.T) {
	t.Parallel()
	var rs replyResends
	f := &pendingKey{claim: "c", record: "r"}

	for i := range int64(100) {
		rs.add(f, "times", i*access.ReplyMillis/50, "x")
	}
	if n := len(rs.all); n != 50 {
		t.Errorf("%d are kept, 50 are of ten minutes", n)
	}
	if n := len(rs.commands(2*access.ReplyMillis + access.ReplyMillis/2)); n != 24 {
		t.Errorf("%d are offered, 24 are of ten minutes", n)
	}
	big := strings.Repeat("x", maxResendBytes/8)
	for range 20 {
		rs.add(f, "times", 3*access.ReplyMillis, big)
	}
	if n := len(rs.all); n != 7 || rs.size > maxResendBytes {
		t.Errorf("%d of an eighth are kept, %d bytes", n, rs.size)
	}
}
