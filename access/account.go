package access

import (
	"sync"
	"sync/atomic"
)

// account is all that is known of one tenant's calls: the journal's book, and what the limits hold.
// mu guards every field. It is held for tens of nanoseconds and never over input or output; the
// log's queue is the only lock taken under it.
type account struct {
	tenant string
	mu     sync.Mutex

	book
	held
	keys map[string]*keyState
}

// keyState is the state of one key.
type keyState struct {
	id      string
	lastUse int64  // wall time of the latest admission of a finished call, Unix milliseconds: the journal's
	window  window // the limits'
}

// newAccount returns an empty account, whose replies count into waiting.
func newAccount(tenant string, waiting *atomic.Int64) *account {
	return &account{
		tenant: tenant, keys: map[string]*keyState{},
		book: book{rows: map[rowName]*Counts{}, replies: newReplies(waiting)},
	}
}

func (a *account) key(id string) *keyState {
	key := a.keys[id]
	if key == nil {
		key = &keyState{id: id}
		a.keys[id] = key
	}
	return key
}

// apply enters a finished call in the book, and as its key's last use.
func (a *account) apply(e *entry) {
	a.charge(e)
	key := a.key(e.key)
	key.lastUse = max(key.lastUse, e.wall)
}
