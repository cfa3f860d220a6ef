package limiter

import (
	"encoding/binary"
	"errors"
	"testing"

	"ninepocket/access"
)

// FuzzAnswers gives a limiter any answers of a script, or of a program in its place. Nothing
// panics. A limiter never admits more than Redis granted, and never takes a larger grant than it
// requested.
func FuzzAnswers(f *testing.F) {
	answer := func(numbers ...int64) (out []byte) {
		out = []byte{opAnswer, byte(len(numbers))}
		for _, n := range numbers {
			out = binary.AppendVarint(out, n)
		}
		return out
	}

	f.Add(append([]byte{opExact, opExact, opAsk}, answer(0, 5, 1, 1, 60_000, 0, 1)...))
	used := append(answer(0, 5, 17, 17, 60_000, 0, 1), opLeased, opLater, 90, opSettle)
	f.Add(append([]byte{opLeased, opAsk}, used...))
	f.Add(append([]byte{opExact, opAsk}, answer(99, 0, 0, 0, 0, 0, 0)...))
	f.Add(append([]byte{opExact, opAsk}, answer(0, 5, 1<<62, 1, 1, 1, 1)...))
	f.Add(append([]byte{opLeased, opAsk}, answer(0, -5, 4000, -1, -1<<63, 1<<62, 1<<60)...))
	f.Add(append([]byte{opQuestion, opAsk}, answer(3, 1, 1)...))
	f.Add(append([]byte{opExact, opAsk}, append(answer(5, 5, 0, 10, 60_500, 3, 1), opExact, opSettle)...))
	f.Add([]byte{opAnswer})
	f.Fuzz(func(t *testing.T, course []byte) {
		c := &answering{t: t, bytes: course[:min(len(course), 500)]}
		c.limiter = newLimiter(redisKeys{prefix: "np", tenant: "t", serverID: "i", sessionID: "l"}, 500,
			access.Instant{Wall: 1})
		for len(c.bytes) > 0 {
			c.step()
		}
		c.recovers()
	})
}

const (
	opExact = iota
	opLeased
	opQuestion
	opLater
	opAsk
	opSettle
	opAnswer
	opFinish
	opCount
)

// answering is a limiter whose script calls are answered from bytes.
type answering struct {
	t     *testing.T
	bytes []byte
	*limiter
	now      access.Instant
	admitted []*pendingAdmit // and not finished
	leased   int64           // granted by leases, and not admitted
}

func (c *answering) next() byte {
	if len(c.bytes) == 0 {
		return 0
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return b
}

// step is one event.
func (c *answering) step() {
	of := quotaPeriod{name: "d1", till: 3_600_000}
	exact := admitRequest{subject: "k", perMinute: 10, limit: 100, cost: 1, window: true, period: of}
	leased := admitRequest{subject: "l", perMinute: 6000, limit: 100, cost: 1, window: true, leased: true, period: of}

	switch c.next() % opCount {
	case opExact:
		c.comes(exact)
	case opLeased:
		c.comes(leased)
	case opQuestion:
		exact.peek = true
		c.comes(exact)
	case opLater:
		later := int64(c.next()) * 10
		c.now = access.Instant{Mono: c.now.Mono + later, Wall: c.now.Wall + later}
	case opAsk:
		c.nextCall(c.now, false)
	case opSettle:
		c.nextCall(c.now, true)
	case opAnswer:
		c.answered()
	case opFinish:
		if len(c.admitted) > 0 {
			c.finish(c.balance(c.admitted[0].period), 1, true)
			c.admitted = c.admitted[1:]
		}
	}
}

// comes makes a call, which an open lease may admit.
func (c *answering) comes(o admitRequest) {
	one := &pendingAdmit{admitDecision: admitDecision{admitRequest: o}}
	c.admitOrQueue(one, c.now)
	c.count([]*pendingAdmit{one}, 0)
}

// count counts calls that were decided: one by one no more than were granted now, and of leases no more
// than these have.
func (c *answering) count(decided []*pendingAdmit, granted int64) {
	c.t.Helper()
	for _, one := range decided {
		if one.outcome != outcomeAdmitted || one.peek {
			continue
		}
		c.admitted = append(c.admitted, one)
		if one.leased {
			c.leased--
		} else {
			granted--
		}
	}
	if granted < 0 || c.leased < 0 {
		c.t.Fatalf("%d calls and %d of leases are admitted that nobody granted", -granted, -c.leased)
	}
}

// answered applies the next answer in the bytes, as a store does.
func (c *answering) answered() {
	var out scriptResult
	for range c.next() % 10 {
		n, size := binary.Varint(c.bytes)
		c.bytes = c.bytes[max(0, min(size, len(c.bytes))):]
		out.ints = append(out.ints, n)
	}
	if c.inFlight == nil {
		return
	}

	call := c.inFlight
	result, err := call.readResult(out)
	if err != nil {
		if !errors.Is(err, errScript) {
			c.t.Fatal(err)
		}
		c.count(c.failInFlight(), 0)
		return
	}
	if result.granted > call.units {
		c.t.Fatalf("%d are granted of %d", result.granted, call.units)
	}
	if call.request.leased {
		c.leased += result.granted
		c.count(c.apply(result, c.now), 0)
		return
	}
	c.count(c.apply(result, c.now), result.granted)
}

// recovers wants good answers to be good again, whatever came before.
func (c *answering) recovers() {
	c.t.Helper()
	c.now = access.Instant{Mono: c.now.Mono + maxExactInt, Wall: c.now.Wall + 60_000}
	for range 20 {
		if c.inFlight == nil {
			c.comes(admitRequest{
				subject: "k", perMinute: 10, limit: 1 << 60, cost: 1, window: true,
				period: quotaPeriod{name: "d1"},
			})
			c.nextCall(c.now, false)
		}

		if call := c.inFlight; call != nil {
			result, err := call.readResult(scriptResult{ints: []int64{statusGranted, 5, call.units, 1, 0, 0, call.seq}})
			if err != nil {
				c.t.Fatalf("a good answer: %v", err)
			}
			if c.apply(result, c.now); len(c.waiting) == 0 && c.inFlight == nil {
				return
			}
		}
	}
	c.t.Fatalf("%d calls wait for ever", len(c.waiting))
}

// FuzzReplies gives what begin and commit may answer: only their own numbers mean something, and a
// reply that is none is refused.
func FuzzReplies(f *testing.F) {
	packed, err := access.PackReply([]byte("the answer"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(int64(1), packed, true)
	f.Add(int64(-1), []byte{}, false)
	f.Add(int64(5), []byte("not compressed"), true)
	f.Fuzz(func(t *testing.T, first int64, text []byte, there bool) {
		out := scriptResult{text: string(text)}
		if there {
			out.ints = []int64{first}
		}
		for _, limit := range []int64{1, beginWait} {
			code := out.code(limit)
			if good := there && first >= 0 && first <= limit; good != (code >= 0) || good && code != first {
				t.Fatalf("%+v is read as %d of %d", out.ints, code, limit)
			}
		}

		if plain, err := access.UnpackReply(text); err == nil && len(plain) > 8<<20 {
			t.Fatalf("a reply of %d bytes", len(plain))
		}
	})
}

// admitOrQueue decides a call at once where that needs no question, or makes it wait.
func (lim *limiter) admitOrQueue(c *pendingAdmit, now access.Instant) {
	if !lim.tryLocal(&c.admitDecision, now) {
		lim.waiting = append(lim.waiting, c)
	}
}
