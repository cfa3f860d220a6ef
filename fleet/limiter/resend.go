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
	all  []offer // oldest first
	size int
}

type offer struct {
	*command
	at   int64 // of the admission, in Unix milliseconds
	size int
}

// add notes a reply that Redis keeps.
func (os *replyResends) add(f *pendingKey, times string, at int64, reply string) {
	one := offer{at: at, size: len(reply) + 500, command: &command{
		script: scriptOffer, keys: []string{f.record, times},
		args: []string{f.claim, string(f.body[:]), number(at), reply, number(access.ReplyMillis)},
	}}
	os.mu.Lock()
	defer os.mu.Unlock()
	os.all = append(os.all, one)
	os.size += one.size
	os.drop(at)
}

// drop forgets what is kept no longer, or does not fit. The caller holds the offers.
func (os *replyResends) drop(now int64) {
	gone := 0
	for _, one := range os.all {
		if os.size <= maxResendBytes && now-one.at < access.ReplyMillis {
			break
		}
		os.size -= one.size
		gone++
	}
	clear(os.all[:gone]) // their replies go now, and not with the array
	os.all = os.all[gone:]
}

// commands are the offers of what is kept still.
func (os *replyResends) commands(now int64) (all []*sending) {
	os.mu.Lock()
	defer os.mu.Unlock()
	os.drop(now)
	for _, one := range os.all {
		all = append(all, &sending{command: one.command, done: func(scriptResult, error) {}})
	}
	return all
}
