package control

import (
	"errors"
	"testing"
)

// TestHookLedger lets one of two servers at a time have what was sent: the other gets it when the first
// ends, or loses its connection.
func TestHookLedger(t *testing.T) {
	t.Parallel()
	db, url := open(t)
	one := db.HookLedger()
	two := connect(t, url).HookLedger()
	load := func(ledger *HookLedger, want string) {
		t.Helper()
		record, err := ledger.Load(t.Context())
		if err != nil || string(record) != want {
			t.Fatalf("%q, %v; want %q", record, err, want)
		}
	}
	refused := func(ledger *HookLedger) {
		t.Helper()
		if record, err := ledger.Load(t.Context()); !errors.Is(err, ErrOtherSends) {
			t.Fatalf("%q, %v", record, err)
		}
	}

	load(one, "")
	refused(two)
	do(t, one.Save(t.Context(), []byte(`{"a": 1}`)))
	load(one, `{"a": 1}`)
	do(t, one.Save(t.Context(), []byte(`{"a": 2}`)))
	refused(two)
	one.Close()
	load(two, `{"a": 2}`)
	refused(one)

	// A server whose session ends under it notices, and may not write what another writes by now.
	_, err := db.pool.Exec(t.Context(), `select pg_terminate_backend(pid) from pg_locks
		where locktype = 'advisory' and objid = $1 and database = (select oid from pg_database
		where datname = current_database())`, hooksLock)
	do(t, err)
	load(one, `{"a": 2}`)
	if err := two.Save(t.Context(), []byte(`{"a": 3}`)); err == nil {
		t.Error("a server without the lock writes")
	}
	refused(two)
	load(one, `{"a": 2}`)
	one.Close()
	load(two, `{"a": 2}`)
	two.Close()
}
