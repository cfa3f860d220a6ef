package limiter

import (
	"sync"

	"ninepocket/access"
)

// maxResendBytes bounds the replies that a server keeps to offer them again, in bytes: 28,000 of a
// usual size. The oldest go first.
const maxResendBytes = 64 << 20

// resendBatch is how many replies are offered in one exchange.
const resendBatch = 64

// replyResends are the replies that this process had Redis keep within ten minutes. A Redis that
// lost them is offered them again, so that a batch that is sent again is answered as before.
type replyResends struct {
	mu   sync.Mutex
	all  []replyResend // oldest first
	size int
}

type replyResend struct {
	*command
	at   int64 // of the admission, in Unix milliseconds
	size int
}

// add notes a reply that Redis keeps.
func (rs *replyResends) add(f *pendingKey, times string, at int64, reply string) {
	one := replyResend{at: at, size: len(reply) + 500, command: &command{
		script: scriptOffer, keys: []string{f.record, times},
		args: []string{f.claim, string(f.body[:]), number(at), reply, number(access.ReplyMillis)},
	}}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = append(rs.all, one)
	rs.size += one.size
	rs.drop(at)
}

// drop forgets what is kept no longer, or does not fit. The caller holds the offers.
func (rs *replyResends) drop(now int64) {
	gone := 0
	for _, one := range rs.all {
		if rs.size <= maxResendBytes && now-one.at < access.ReplyMillis {
			break
		}
		rs.size -= one.size
		gone++
	}
	clear(rs.all[:gone]) // their replies go now, and not with the array
	rs.all = rs.all[gone:]
}

// commands are the offers of what is kept still.
func (rs *replyResends) commands(now int64) (all []*queuedCommand) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.drop(now)
	for _, one := range rs.all {
		all = append(all, &queuedCommand{command: one.command, done: func(scriptResult, error) {}})
	}
	return all
}
