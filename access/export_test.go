package access

import "ninepocket/internal/wal/waltest"

// Kill ends a store as the death of its process would: what is queued and not written is lost,
// nothing is saved.
func (store *Embedded) Kill() {
	store.once.Do(func() {
		close(store.stop)
		store.wg.Wait()
		store.closed.Store(true)
		store.log.Abandon()
		_ = store.saver.end(false)
		store.lock.Unlock()
	})
}

// WithSegments makes a store write its log through create.
func (o EmbeddedOptions) WithSegments(create waltest.Create) EmbeddedOptions {
	o.create = create
	return o
}

// Unsynced makes a store leave fsync out, for tests that do not cut the power.
func (o EmbeddedOptions) Unsynced(create waltest.Create) EmbeddedOptions {
	o.create = waltest.Unsynced(create)
	o.unsynced = true
	o.boot = noBoot
	return o
}

// noBoot is for tests whose time is not the machine's.
func noBoot() boot { return boot{} }

// SaveCheckpoint writes a checkpoint now.
func (store *Embedded) SaveCheckpoint() error { return store.saver.save(bboltPatience) }
