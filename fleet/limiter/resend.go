package limiter

import (
	"sync"

	"ninepocket/access"
)

// maxResendBytes bounds the replies that a server stores for resending, in bytes: 28,000 of a usual
// size. The oldest are dropped first.
const maxResendBytes = 64 << 20

// resendBatch is how many replies are sent again in one exchange.
const resendBatch = 64

// replyResends are the replies that this process stored in Redis within the last ten minutes. They are
// sent again to a Redis that lost them, so that a repeated batch is answered as before.
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

// add adds a reply that is stored in Redis.
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

// drop drops replies that are expired, or above maxResendBytes. The caller holds mu.
func (rs *replyResends) drop(now int64) {
	gone := 0
	for _, one := range rs.all {
		if rs.size <= maxResendBytes && now-one.at < access.ReplyMillis {
			break
		}
		rs.size -= one.size
		gone++
	}
	clear(rs.all[:gone]) // frees the replies now, and not with the array
	rs.all = rs.all[gone:]
}

// commands returns the commands that send the replies again.
func (rs *replyResends) commands(now int64) (all []*queuedCommand) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.drop(now)
	for _, one := range rs.all {
		all = append(all, &queuedCommand{command: one.command, done: func(scriptResult, error) {}})
	}
	return all
}
