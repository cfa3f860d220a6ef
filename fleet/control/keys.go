package control

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"ninepocket/access/keys"
)

// ReadKeys returns all tenants and keys.
func (db *DB) ReadKeys(ctx context.Context) (*keys.File, error) {
	r := keyCache{file: keys.NewFile()}
	if _, err := r.refresh(ctx, db); err != nil {
		return nil, err
	}
	return r.file, nil
}

// UpdateKeys changes tenants and keys in one transaction: it reads them, calls change and writes the
// records that differ, one caller at a time. If change fails nothing is written, and its error is returned.
func (db *DB) UpdateKeys(ctx context.Context, change func(*keys.File) error) error {
	return db.updateKeys(ctx, db.timeout, change, func(context.Context, pgx.Tx) error { return nil })
}

// updateKeys is UpdateKeys with more statements in the transaction.
func (db *DB) updateKeys(
	ctx context.Context, timeout time.Duration, change func(*keys.File) error, more func(context.Context, pgx.Tx) error,
) error {
	var refused error
	err := db.inTxWithin(ctx, timeout, func(ctx context.Context, tx pgx.Tx) error {
		// The lock on this row orders the versions: no reader sees a later version before this one.
		var version int64
		err := tx.QueryRow(ctx, "update ninepocket.control set version = version + 1 returning version").Scan(&version)
		if err != nil {
			return err
		}

		r := keyCache{file: keys.NewFile()}
		if err := r.applyChanges(ctx, tx); err != nil {
			return err
		}
		before, err := encodeKeys(r.file)
		if err != nil {
			return err
		}
		refused = change(r.file)
		if refused == nil {
			refused = r.file.Validate()
		}
		if refused != nil {
			return refused
		}
		after, err := encodeKeys(r.file)
		if err != nil {
			return err
		}
		if err := writeChanges(ctx, tx, before, after, version); err != nil {
			return err
		}
		return more(ctx, tx)
	})
	if refused != nil {
		return refused
	}
	return err
}

// deleteSQL gives the ledger rows and the key log of a tenant to an opaque name. Reasons may name people.
const deleteSQL = `with ledger as (update ninepocket.ledger set tenant = $2::text where tenant = $1)
	update ninepocket.key_log set entry = entry - 'reason' || jsonb_build_object('tenant', $2::text)
	where entry->>'tenant' = $1`

// DeleteTenant changes keys as UpdateKeys does, and gives the calls of a tenant to an opaque name.
func (db *DB) DeleteTenant(ctx context.Context, tenant, opaque string, change func(*keys.File) error) error {
	return db.updateKeys(ctx, exportTimeout, change, func(ctx context.Context, tx pgx.Tx) error {
		// A server that reports meanwhile waits, and finds the new name.
		_, err := tx.Exec(ctx, "lock table ninepocket.ledger in share row exclusive mode")
		if err == nil {
			_, err = tx.Exec(ctx, deleteSQL, tenant, opaque)
		}
		return err
	})
}

// keyRows are tenants and keys as they are stored, each a JSON text.
type keyRows struct {
	tenants map[string]string // by name
	keys    map[string]string // by hash, in hexadecimal
	file    *keys.File
}

// encodeKeys encodes all tenants and keys.
func encodeKeys(file *keys.File) (keyRows, error) {
	out := keyRows{tenants: map[string]string{}, keys: map[string]string{}, file: file}
	for name, tenant := range file.Tenants {
		text, err := json.Marshal(tenant)
		if err != nil {
			return out, err
		}
		out.tenants[name] = string(text)
	}

	for _, key := range file.Keys {
		text, err := json.Marshal(key)
		if err != nil {
			return out, err
		}
		out.keys[key.Hash] = string(text)
	}
	return out, nil
}

// writeChanges writes the records of after that differ from before.
func writeChanges(ctx context.Context, tx pgx.Tx, before, after keyRows, version int64) error {
	var batch pgx.Batch
	for _, name := range slices.Sorted(maps.Keys(after.tenants)) {
		if text := after.tenants[name]; text != before.tenants[name] {
			batch.Queue(`insert into ninepocket.tenants (name, record, version) values ($1, $2, $3)
				on conflict (name) do update set record = excluded.record, version = excluded.version`,
				name, text, version)
		}
	}

	for _, key := range after.file.Keys {
		text := after.keys[key.Hash]
		if text == before.keys[key.Hash] {
			continue
		}
		sum, err := hex.DecodeString(key.Hash)
		if err != nil {
			return err
		}
		batch.Queue(`insert into ninepocket.keys (hash, id, tenant, record, version) values ($1, $2, $3, $4, $5)
			on conflict (id) do update set hash = excluded.hash, tenant = excluded.tenant, record = excluded.record,
			version = excluded.version`, sum, key.ID, key.Tenant, text, version)
	}
	// After the keys, which refer to them.
	for name := range before.tenants {
		if _, stays := after.tenants[name]; !stays {
			batch.Queue("delete from ninepocket.tenants where name = $1", name)
		}
	}
	return tx.SendBatch(ctx, &batch).Close()
}

// keyCache is the tenants and keys up to a change.
type keyCache struct {
	file      *keys.File
	last      change
	indexByID map[string]int // of a key in the file, by id
}

// change is a change of keys. Databases that went apart, as after one was restored, have changes of the
// same version and other lineages.
type change struct {
	version int64
	lineage string // "" = before all others
}

// lastChangeSQL selects the last change of keys.
const lastChangeSQL = `select version, l.id::text from ninepocket.control join ninepocket.lineage l using (version)`

// refresh reads the changes since the cached one, and reports whether there were any. On an error
// the cache stays unchanged.
func (r *keyCache) refresh(ctx context.Context, db *DB) (changed bool, err error) {
	var last change
	err = db.one(ctx, db.timeout, []any{&last.version, &last.lineage}, lastChangeSQL)
	if err != nil || last == r.last {
		return false, db.addMissing(ctx, err)
	}

	next := r.clone()
	err = db.withTimeout(ctx, db.timeout, func(ctx context.Context) error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, db.pool, options, func(tx pgx.Tx) error { return next.applyChanges(ctx, tx) })
	})
	if err != nil {
		return false, err
	}
	*r = next
	return true, nil
}

// clone copies the cache, but not its records, which are replaced and never changed.
func (r *keyCache) clone() keyCache {
	file := *r.file
	file.Tenants = maps.Clone(file.Tenants)
	file.Keys = slices.Clone(file.Keys)
	return keyCache{file: &file, last: r.last, indexByID: maps.Clone(r.indexByID)}
}

// applyChanges reads the tenants and keys of later changes into the cache. If the cached change is not
// in the past of this database, as after an older copy was restored, it reads all.
func (r *keyCache) applyChanges(ctx context.Context, tx pgx.Tx) error {
	var last change
	var known, complete bool
	err := tx.QueryRow(ctx, lastChangeSQL).Scan(&last.version, &last.lineage)
	if err == nil {
		err = tx.QueryRow(ctx, `select `+completeSQL+`, exists (
			select from ninepocket.lineage where version = $1 and id::text = $2)`, r.last.version, r.last.lineage).
			Scan(&complete, &known)
	}
	if err == nil && !complete {
		err = errRestoring
	}
	if err != nil {
		return err
	}
	if !known || last.version < r.last.version {
		*r = keyCache{file: keys.NewFile(), indexByID: map[string]int{}}
	}

	rows, _ := tx.Query(ctx, "select name, record from ninepocket.tenants where version > $1", r.last.version)
	var name, text string
	_, err = pgx.ForEachRow(rows, []any{&name, &text}, func() error {
		tenant := &keys.Tenant{}
		r.file.Tenants[name] = tenant
		return json.Unmarshal([]byte(text), tenant)
	})
	if err != nil {
		return err
	}

	// In the order of a keys file: as the keys were created.
	rows, _ = tx.Query(ctx, `select record from ninepocket.keys where version > $1
		order by number`, r.last.version)
	_, err = pgx.ForEachRow(rows, []any{&text}, func() error {
		key := &keys.Key{}
		if err := json.Unmarshal([]byte(text), key); err != nil {
			return err
		}
		r.put(key)
		return nil
	})
	if err == nil {
		r.last = last
	}
	return err
}

// put adds a key, or replaces the key with its id.
func (r *keyCache) put(key *keys.Key) {
	if i, known := r.indexByID[key.ID]; known {
		r.file.Keys[i] = key
		return
	}
	r.indexByID[key.ID] = len(r.file.Keys)
	r.file.Keys = append(r.file.Keys, key)
}

// KeySource reads the keys of the database for a [keys.Ring], through a cache.
type KeySource struct {
	db          *DB
	cache       keyCache
	file        *keys.File // of the cache, with what is known to be revoked
	revoked     revocations
	now         func() time.Time
	lastSuccess atomic.Int64 // when the database last answered, Unix nanoseconds
	version     atomic.Int64 // of the keys that were read last
}

var _ keys.Source = (*KeySource)(nil)

// KeySource returns a source of the keys in the database.
func (db *DB) KeySource(now func() time.Time) *KeySource {
	source := &KeySource{db: db, cache: keyCache{file: keys.NewFile()}, now: now}
	source.revoked.times = map[string]time.Time{}
	source.revoked.report = func([]string, error) {}
	return source
}

// Read implements [keys.Source].
func (source *KeySource) Read(ctx context.Context) (*keys.File, bool, error) {
	// Before the new keys, which nothing is to delay.
	source.revoked.settle(ctx, source.db, source.now())
	changed, err := source.cache.refresh(ctx, source.db)
	if err != nil {
		return nil, false, err
	}
	if changed || source.file == nil {
		source.file = source.revoked.apply(source.cache.file)
	}
	source.lastSuccess.Store(source.now().UnixNano())
	source.version.Store(source.cache.last.version)
	return source.file, changed, nil
}

// String implements [keys.Source].
func (source *KeySource) String() string { return source.db.String() }

// LastSuccess returns when the database last answered; the zero time before the first answer.
func (source *KeySource) LastSuccess() time.Time {
	if at := source.lastSuccess.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Version returns the version of the keys that were read last.
func (source *KeySource) Version() int64 { return source.version.Load() }

// AppendKeyLog appends a JSON object to the log of commands that changed keys.
func (db *DB) AppendKeyLog(ctx context.Context, entry []byte) error {
	return db.exec(ctx, db.timeout, "insert into ninepocket.key_log (entry) values ($1)", string(entry))
}

// KeyLog returns that log, oldest first.
func (db *DB) KeyLog(ctx context.Context) (entries [][]byte, err error) {
	var entry string
	err = db.each(ctx, db.timeout, []any{&entry}, func() { entries = append(entries, []byte(entry)) },
		"select entry::text from ninepocket.key_log order by number")
	return entries, err
}

// Imported is the result of an import of keys.
type Imported struct {
	Tenants   int      `json:"tenants"` // added
	Keys      int      `json:"keys"`    // added
	Revoked   int      `json:"ended"`   // existing keys that the machine revoked, or that expire earlier there
	Unchanged []string `json:"kept"`    // existing tenants that differ: they stay as they are
}

// ImportKeys adds the tenants and keys of a keys file. Existing ones stay as they are, so that
// a second import undoes no change since the first. Only the end of a key is imported:
// a key revoked on the machine must not work in the fleet.
func (db *DB) ImportKeys(ctx context.Context, from *keys.File) (out Imported, err error) {
	out.Unchanged = []string{}
	theirs, err := encodeKeys(from)
	if err != nil {
		return out, err
	}

	err = db.UpdateKeys(ctx, func(file *keys.File) error {
		ours, err := encodeKeys(file)
		if err != nil {
			return err
		}

		// Rows that the fleet has deleted do not come back.
		deleted := map[string]bool{}
		there := map[string]*keys.Key{}
		for _, key := range file.Keys {
			deleted[key.ID] = keys.IsOpaque(key.Tenant)
			there[key.Hash] = key
		}
		isDeleted := func(tenant string) bool {
			return slices.ContainsFunc(from.KeysOf(tenant), func(key *keys.Key) bool { return deleted[key.ID] })
		}
		for _, name := range slices.Sorted(maps.Keys(from.Tenants)) {
			switch have := ours.tenants[name]; {
			case have == theirs.tenants[name] || isDeleted(name):
			case have == "":
				file.Tenants[name] = from.Tenants[name]
				out.Tenants++
			default:
				out.Unchanged = append(out.Unchanged, name)
			}
		}

		for _, key := range from.Keys {
			switch have := there[key.Hash]; {
			case isDeleted(key.Tenant):
			case have == nil:
				file.Keys = append(file.Keys, key)
				out.Keys++
			case applyEarlierEnd(have, key):
				out.Revoked++
			}
		}
		return nil
	})
	return out, err
}

// applyEarlierEnd revokes a key or shortens its life as another record of it does, and reports whether
// that changed anything.
func applyEarlierEnd(key, other *keys.Key) bool {
	changed := false
	// A suspension is the fleet's own: one of the machine may have been taken back here, as a revocation may.
	revived := key.RevivedAt != nil && other.RevokedAt != nil && !key.RevivedAt.Before(*other.RevokedAt)
	if !revived && (key.RevokedAt == nil || key.Suspended()) && other.RevokedAt != nil && !other.Suspended() {
		key.RevokedAt = other.RevokedAt
		key.SuspendedAt = nil
		changed = true
	}
	if other.ExpiresAt != nil && (key.ExpiresAt == nil || other.ExpiresAt.Before(*key.ExpiresAt)) {
		key.ExpiresAt = other.ExpiresAt
		changed = true
	}

	// A successor matters only to a key that ends.
	if changed && key.RotatedTo == "" {
		key.RotatedTo = other.RotatedTo
	}
	return changed
}
