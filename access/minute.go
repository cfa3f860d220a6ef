package access

import "ninepocket/access/keys"

// minuteNow is what a live key may still do in the minute, without taking any of it. The caller
// holds the account.
func (l *limits) minuteNow(slot *slot, p *keys.Principal, now Instant) Policy {
	if p.Kind == keys.Preview {
		return Policy{}
	}

	at := l.time(now)
	w := slot.account.windowOf(slot.key, KeyWindow)
	w.fit(p.Plan.PerMinute, at)
	_, remaining, wait := w.peek(at)
	wait = min(wait, minuteMillis)
	return Policy{
		Limit: int64(p.Plan.PerMinute), Remaining: remaining,
		Wait: secondsUp(wait), Reset: secondsUp(now.Wall + wait),
	}
}
