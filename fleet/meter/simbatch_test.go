package meter

import (
	"fmt"

	"ninepocket/access"
)

// A batch goes the way that Begin and Commit of Store go: claim, unit, work, prepared, kept, settled.

// batch makes a batch of an idempotency key.
func (s *simServer) batch(key string) {
	if s.flying[key] {
		return // a caller on this server waits for the same
	}
	s.flying[key] = true
	land := func() { delete(s.flying, key) }
	s.ask("org", order{subject: "t", window: true}, func(c *call) {
		if c.fate != admitted {
			land()
			return
		}
		s.claim(key, land)
	})
}

func (s *simServer) claim(key string, land func()) {
	w := s.w
	s.number++
	n := s.names("org")

	b := &simBatch{key: key, record: n.record(key), claim: fmt.Sprintf("%s.%s.%d", n.incarnation, n.life, s.number)}
	c := &command{script: scriptBegin, keys: []string{b.record, n.times()}, args: []string{
		b.claim, "body", number(w.claimFor), number(access.ReplyMillis), "100000", "0",
	}}
	s.request(c, w.patience, func(out reply, known bool) {
		switch {
		case known && out.at(0) == beginReplay:
			w.notes.replays++
			w.told(key, out.text)
			land()
		case known && out.at(0) == beginFresh:
			s.reserve(b, land)
		default:
			land()
		}
	})
}

// reserve takes the unit of a fresh batch and does its work.
func (s *simServer) reserve(b *simBatch, land func()) {
	w := s.w
	s.ask("org", order{subject: "t", cost: 1}, func(c *call) {
		if c.fate != admitted {
			s.request(s.aborted(b), w.patience, func(reply, bool) { land() })
			return
		}

		flown := s.fly("org")
		done := func() {
			flown()
			land()
		}
		s.later(50+w.Int64N(3000), func() {
			if w.IntN(5) == 0 {
				s.request(s.aborted(b), w.patience, func(reply, bool) {
					s.share("org").finish(c.charge, 1, false)
					done()
				})
				return
			}
			s.commit(b, c, done)
		})
	})
}

func (s *simServer) aborted(b *simBatch) *command {
	return &command{script: scriptAbort, keys: []string{b.record}, args: []string{b.claim, number(s.w.claimFor)}}
}

func (s *simServer) commit(b *simBatch, c *call, done func()) {
	w := s.w
	w.notes.batches++
	if !w.flaws.unprepared {
		s.prepared[b.claim] = b
	}

	n := s.names("org")
	out := &command{script: scriptCommit, keys: []string{b.record, n.times()}, args: []string{
		b.claim, number(c.at), "answer " + b.claim, number(access.ReplyMillis),
	}}
	s.request(out, 1_000_000, func(out reply, known bool) {
		if !known {
			s.unsure[b.claim] = b
			done()
			return
		}
		s.settle(b, out.at(0) == 1)
		if out.at(0) != 1 {
			done()
			return
		}
		s.later(w.Int64N(500), func() {
			w.told(b.key, "answer "+b.claim)
			w.answered["org"]++
			done()
		})
	})
}

// settle writes what Redis decided.
func (s *simServer) settle(b *simBatch, kept bool) {
	w := s.w
	delete(s.prepared, b.claim)
	delete(s.unsure, b.claim)
	if !kept {
		w.notes.voids++
	} else {
		s.journal["org"]++
		w.charged["org"]++
		w.key(b.key).charges++
	}

	if b.adopted {
		sh := s.shares["org"]
		if sh == nil {
			return
		}
		for _, acc := range sh.accounts {
			if acc.adopted > 0 {
				acc.adopted--
				if kept {
					acc.charged++
				}
			}
		}
		return
	}
	for _, own := range s.share("org").accounts {
		s.share("org").finish(own, 1, kept)
	}
}

// resolve finds out what became of a batch whose commit nobody answered.
func (s *simServer) resolve(b *simBatch) {
	s.request(s.aborted(b), s.w.patience, func(out reply, known bool) {
		if !known || s.unsure[b.claim] == nil {
			return
		}
		if out.at(0) == 1 {
			s.w.inAir["org"]++ // its caller was answered 503
		}
		s.settle(b, out.at(0) == 1)
	})
}

// request sends a command, again and again, until it is answered or its time is over.
func (s *simServer) request(c *command, patience int64, then func(out reply, known bool)) {
	over := false
	end := func(out reply, known bool) {
		if !over {
			over = true
			then(out, known)
		}
	}

	var try func()
	try = func() {
		if over {
			return
		}
		s.reconnect()
		s.transmit(c, func(out reply) { end(out, true) })
		s.later(s.w.retry, try)
	}
	try()
	s.later(patience, func() { end(reply{}, false) })
}

func (w *world) key(name string) *simKey {
	k := w.keys[name]
	if k == nil {
		k = &simKey{}
		w.keys[name] = k
	}
	return k
}

// told notes what the caller of a key was answered.
func (w *world) told(name, text string) {
	k := w.key(name)
	if k.told > 0 && k.reply != text {
		w.found = append(w.found, fmt.Sprintf("I4: key %s was answered %q and %q", name, k.reply, text))
	}
	k.told++
	k.reply = text
}
