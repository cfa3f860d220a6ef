package ninepocket

import (
	"container/list"
	"sync"
)

// Bounds of what a client remembers for conditional requests.
const (
	maxRemembered      = 256
	maxRememberedBytes = 8 << 20
	maxRememberedBody  = 1 << 20
)

// memory has the bodies and validators of the answers that were used last.
type memory struct {
	mu     sync.Mutex
	byName map[string]*list.Element
	used   list.List // of *remembered, the latest use in front
	bytes  int
}

type remembered struct {
	name, tag string
	body      []byte
}

func (m *memory) find(name string) *remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.byName[name]
	if at == nil {
		return nil
	}
	m.used.MoveToFront(at)
	return at.Value.(*remembered)
}

func (m *memory) add(name, tag string, body []byte) {
	if len(body) > maxRememberedBody {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if at := m.byName[name]; at != nil {
		m.remove(at)
	}
	if m.byName == nil {
		m.byName = map[string]*list.Element{}
	}

	m.byName[name] = m.used.PushFront(&remembered{name, tag, body})
	m.bytes += len(body)
	for m.used.Len() > maxRemembered || m.bytes > maxRememberedBytes {
		m.remove(m.used.Back())
	}
}

func (m *memory) remove(at *list.Element) {
	gone := m.used.Remove(at).(*remembered)
	delete(m.byName, gone.name)
	m.bytes -= len(gone.body)
}
