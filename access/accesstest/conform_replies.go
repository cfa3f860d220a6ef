package accesstest

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"ninepocket/access"
)

func replayConflictWait(b *bench) {
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	_, waiting := b.begin("org2", "k", 1, access.InProgress)
	b.begin("org2", "k", 2, access.Conflict)
	select {
	case <-waiting.Done:
		b.t.Fatal("woken too early")
	default:
	}

	answer := string(bytes.Repeat([]byte("an answer "), 3000))
	b.commit(decision, claim, answer)
	<-waiting.Done
	_, replay := b.begin("org2", "k", 1, access.Replay)
	if string(replay.Reply) != answer {
		b.t.Fatalf("replay differs: %d bytes", len(replay.Reply))
	}

	b.begin("org", "k", 2, access.Conflict)
	b.used("org", 1)
	rows, _ := b.Ledger("org", 0)
	var sum access.Counts
	for _, row := range rows {
		sum.Calls += row.Calls
		sum.Charged += row.Charged
	}

	if sum != (access.Counts{Calls: 5, Charged: 1}) {
		b.t.Fatalf("ledger %+v", rows)
	}
}

func replayWhenExhausted(b *bench) {
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	b.commit(decision, claim, "first")
	for range 6 {
		b.do("org", access.ProductsList)
	}

	b.begin("org", "k", 1, access.Replay)
	_, claim = b.begin("org", "other", 1, access.Exhausted)
	if claim.RetryAfter < 1 || claim.RetryAfter != claim.Quota.Wait || claim.Quota.Remaining != 0 {
		b.t.Fatalf("exhausted with %+v", claim)
	}
}

func tenMinutesExactly(b *bench) {
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	b.commit(decision, claim, "first")
	b.sleep(10*time.Minute - time.Millisecond)
	b.setWall(5 * day) // durations are measured on the monotonic clock
	b.begin("org", "k", 1, access.Replay)
	b.sleep(time.Millisecond)
	decision, claim = b.begin("org", "k", 2, access.Fresh)
	b.commit(decision, claim, "second")
	b.begin("org", "k", 1, access.Conflict)
	b.used("org", 2)
}

func abortLeavesNothing(b *bench) {
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	_, waiting := b.begin("org", "k", 1, access.InProgress)
	if charge, err := b.Abort(decision.Reservation, claim); err != nil || charge.Charged != 0 {
		b.t.Fatal(charge, err)
	}

	<-waiting.Done
	b.used("org", 0)
	decision, claim = b.begin("org", "k", 2, access.Fresh)
	b.commit(decision, claim, "second")
	if charge, err := b.Abort(decision.Reservation, claim); err != nil || charge.Charged != 0 {
		b.t.Fatal("abort after commit:", charge, err)
	}

	b.begin("org", "k", 2, access.Replay)
	b.used("org", 1)
}

func misuse(b *bench) {
	decision := b.want("org", access.PricesBatch, access.Admitted)
	if _, err := b.Finish(decision.Reservation, true); !errors.Is(err, access.ErrReservation) {
		b.t.Fatalf("finishing a batch without commit: %v", err)
	}
	if _, err := b.Commit(decision.Reservation, access.Claim{}, nil); !errors.Is(err, access.ErrReservation) {
		b.t.Fatalf("commit without claim: %v", err)
	}

	decision, claim := b.begin("org", "k", 1, access.Fresh)
	b.commit(decision, claim, "x")
	if _, err := b.Commit(decision.Reservation, claim, []byte("y")); !errors.Is(err, access.ErrReservation) {
		b.t.Fatalf("second commit: %v", err)
	}

	decision = b.want("org", access.ProductsList, access.Admitted)
	if _, err := b.Begin(decision.Reservation, "k", access.BodyHash{}, b.now); !errors.Is(err, access.ErrReservation) {
		b.t.Fatalf("begin of another operation: %v", err)
	}

	b.used("org", 1)
}

func tenantsApart(b *bench) {
	decision, claim := b.begin("org", "k", 1, access.Fresh)
	b.commit(decision, claim, "secret of org")
	decision, claim = b.begin("rival", "k", 2, access.Fresh)
	other := b.want("org", access.PricesBatch, access.Admitted)
	if _, err := b.Commit(other.Reservation, claim, nil); !errors.Is(err, access.ErrReservation) {
		b.t.Fatalf("commit of another tenant's claim: %v", err)
	}

	b.commit(decision, claim, "secret of rival")
	b.used("org", 1)
	b.used("rival", 1)
	rows, err := b.Ledger("rival", 0)
	if err != nil || len(rows) != 1 || rows[0].Tenant != "rival" {
		b.t.Fatalf("ledger of rival: %+v (%v)", rows, err)
	}
}

// boundedReplies stores as many replies as the harness allows, and no more until one expires.
func boundedReplies(b *bench) {
	for i := range MaxIdempotencyRecords {
		decision, claim := b.begin("rival", fmt.Sprint(i), 1, access.Fresh)
		b.commit(decision, claim, "a reply")
		b.sleep(time.Second)
	}

	refused := func() *access.IdempotencyFullError {
		decision := b.want("rival", access.PricesBatch, access.Admitted)
		_, err := b.Begin(decision.Reservation, "another", access.BodyHash{}, b.now)
		full, ok := errors.AsType[*access.IdempotencyFullError](err)
		if !ok || !errors.Is(err, access.ErrIdempotencyFull) || !errors.Is(err, access.ErrUnavailable) {
			b.t.Fatalf("a reply too many: %v", err)
		}
		charge := b.finish(decision, false, 0)
		if left := charge.Quota.Limit - int64(MaxIdempotencyRecords); charge.Quota.Remaining != left {
			b.t.Fatalf("%+v, want %d left", charge.Quota, left)
		}
		return full
	}

	// The first one expires ten minutes after its call, to the second.
	full := refused()
	if full.Records != MaxIdempotencyRecords || full.RetryAfter != 600-MaxIdempotencyRecords {
		b.t.Fatalf("refused with %+v", full)
	}
	b.sleep(time.Duration(full.RetryAfter)*time.Second - time.Millisecond)
	if again := refused(); again.RetryAfter != 1 {
		b.t.Fatalf("refused with %+v", again)
	}
	b.sleep(time.Millisecond)
	decision, claim := b.begin("rival", "later", 1, access.Fresh)
	b.commit(decision, claim, "room again")
	b.used("rival", int64(MaxIdempotencyRecords)+1)
}

func oneClaim(b *bench) {
	p := b.who("rival", b.now)
	gate := access.NewGate(b.ring, b)
	var fresh, replays, conflicts atomic.Int64
	var group sync.WaitGroup
	for i := range 48 {
		group.Go(func() {
			decision := gate.Admit(p, access.PricesBatch, b.now)
			body := access.BodyHash{byte(i % 8 / 7)} // one in eight has another body
			claim, err := gate.Begin(time.Minute, decision.Reservation, "k", body, b.now)
			switch {
			case err != nil:
				b.t.Error(err)
			case claim.Result == access.Fresh:
				fresh.Add(1)
				_, err = gate.Commit(decision.Reservation, claim, []byte{body[0]})
			case claim.Result == access.Replay:
				replays.Add(1)
				if !bytes.Equal(claim.Reply, []byte{body[0]}) {
					b.t.Error("replay of another body")
				}
				_, err = gate.Finish(decision.Reservation, false)
			default:
				conflicts.Add(1)
				_, err = gate.Finish(decision.Reservation, false)
			}

			if err != nil {
				b.t.Error(err)
			}
		})
	}

	group.Wait()
	if fresh.Load() != 1 || fresh.Load()+replays.Load()+conflicts.Load() != 48 || conflicts.Load() == 0 {
		b.t.Fatalf("%d fresh, %d replays, %d conflicts", fresh.Load(), replays.Load(), conflicts.Load())
	}

	b.used("rival", 1)
}
