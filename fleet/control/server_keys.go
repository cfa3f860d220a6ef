package control

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"ninepocket/access/keys"
	"ninepocket/access/statedir"
	"ninepocket/engine/cursor"
)

// writeInterval is how often a server reports its plans and copies its keys, also without a change.
const writeInterval = time.Minute

// ServerKeys is the source of keys and plans of a server. It reports the plans of this server to
// the others, and while theirs differ the lower limits hold. Keys and plans are copied into the
// state directory, for a start while the database does not answer.
type ServerKeys struct {
	*KeySource
	path       string                 // of the copy
	serverID   atomic.Pointer[string] // "" = nothing is written yet
	configured atomic.Pointer[keys.Plans]
	heard      atomic.Pointer[heardKeys]
	outage     atomic.Bool // from a start with the copy until the database answers

	// Of the goroutine that reads.
	copied    bool // the next Read returns the copy
	reported  string
	writtenAt time.Time
}

// heardKeys is what the database said last, and the content of the copy.
type heardKeys struct {
	At         time.Time
	Database   string
	File       *keys.File
	Plans      *sharedPlans
	CursorKeys []cursor.Key
	sum        string // of the plans
}

// sharedPlans are the plans of the database, and what each other server would give.
type sharedPlans struct {
	Stored keys.Plans
	Others []keys.Plans
}

// ServerKeys returns the source of a server with a state directory.
func (db *DB) ServerKeys(stateDir string, now func() time.Time) *ServerKeys {
	source := &ServerKeys{KeySource: db.KeySource(now), path: filepath.Join(stateDir, statedir.FleetKeysName)}
	source.serverID.Store(new(string))
	source.heard.Store(&heardKeys{Database: db.host, Plans: &sharedPlans{}})
	return source
}

// Begin lets the source write. The state directory is locked by then.
func (source *ServerKeys) Begin(serverID string) { source.serverID.Store(&serverID) }

// Read implements [keys.Source].
func (source *ServerKeys) Read(ctx context.Context) (*keys.File, bool, error) {
	next := *source.heard.Load()
	before := next.sum
	if source.copied {
		source.copied = false
		return source.revoked.apply(next.File), true, nil
	}
	// An upgrade may have met the outage.
	if source.outage.Load() {
		if err := source.db.Prepare(ctx); err != nil {
			return nil, false, err
		}
	}

	var text string
	// Plans come first: a change of keys is said once, and one of plans until both could be read.
	err := source.db.one(ctx, source.db.timeout, []any{&next.sum, &text},
		`select md5(t), case when md5(t) = $3 then '' else t end from ninepocket.shared_plans($1, $2) t`,
		*source.serverID.Load(), SilenceThreshold, before)
	// The text is empty while the plans are unchanged.
	if err == nil && text != "" {
		next.Plans = &sharedPlans{}
		err = json.Unmarshal([]byte(text), next.Plans)
	}
	if err != nil {
		return nil, false, source.db.addMissing(ctx, err)
	}
	file, changed, err := source.KeySource.Read(ctx)
	if err != nil {
		return nil, false, err
	}

	next.At = source.LastSuccess()
	// Deleted tenants have no keys, and their names go from the copy.
	if changed || next.File == nil {
		next.File = &keys.File{Version: file.Version, Tenants: map[string]*keys.Tenant{}, Keys: file.Keys}
		for _, key := range file.Keys {
			next.File.Tenants[key.Tenant] = file.Tenants[key.Tenant]
		}
	}
	source.heard.Store(&next)
	source.outage.Store(false)
	changed = changed || next.sum != before

	// Keys matter more than the rest: fleet check names who does not report, and a later call tries again.
	if *source.serverID.Load() != "" {
		source.write(ctx, next, changed)
	}
	return file, changed, nil
}

// Plans implements [keys.PlanSource]. Plans that the database does not have are as configured.
func (source *ServerKeys) Plans(configured keys.Plans) keys.Plans {
	source.configured.Store(&configured)
	// Of all servers the lowest limit holds: a caller may ask any of them.
	shared := source.heard.Load().Plans
	plans := configured.With(shared.Stored)
	for _, others := range shared.Others {
		for name, plan := range plans {
			plans[name] = plan.Lower(others[name])
		}
	}
	return plans
}

// write reports the plans of this server without the others', and copies the keys and plans.
func (source *ServerKeys) write(ctx context.Context, heard heardKeys, changed bool) {
	plans, err := json.Marshal(source.configured.Load().With(heard.Plans.Stored))
	due := changed || source.reported != string(plans) || source.now().Sub(source.writtenAt) >= writeInterval
	if err != nil || !due {
		return
	}

	source.writtenAt = time.Time{} // due until it is done
	found, err := source.db.CursorKeys(ctx)
	if err == nil {
		heard.CursorKeys = found
		source.heard.Store(&heard)
		err = source.db.exec(ctx, source.db.timeout, "select ninepocket.report_plans($1, $2)",
			*source.serverID.Load(), string(plans))
	}
	// The sum comes first, so that half a file is known as one.
	text, unfit := json.Marshal(heard)
	sum := sha256.Sum256(text)
	err = errors.Join(err, unfit)
	if err == nil {
		err = statedir.ReplaceFile(source.path, append(hex.AppendEncode(nil, sum[:]), text...))
	}
	if err == nil {
		source.reported = string(plans)
		source.writtenAt = source.now()
	}
}

// UseCopy makes the first Read return the copy, and returns the secrets of cursors of then. The error says why
// there is no copy, or that it is older than maxAge.
func (source *ServerKeys) UseCopy(maxAge time.Duration) ([]cursor.Key, error) {
	text, err := os.ReadFile(source.path)
	if err != nil {
		return nil, fmt.Errorf("this server has no earlier keys: %w", err)
	}
	var copied heardKeys
	sum := sha256.Sum256(text[min(len(text), 2*sha256.Size):])
	if !bytes.HasPrefix(text, hex.AppendEncode(nil, sum[:])) || json.Unmarshal(text[2*sha256.Size:], &copied) != nil {
		return nil, fmt.Errorf("%q, the last keys and plans, is damaged", source.path)
	}
	// A clock that was set back makes them no younger.
	if copied.Database != source.db.host || source.now().Sub(copied.At).Abs() > maxAge {
		return nil, fmt.Errorf("the last keys of %q are those of %s at %s, and fleet.keys_max_age is %s", source.path,
			copied.Database, copied.At.Format(time.RFC3339), maxAge)
	}

	// The age of the keys is that of the copy until the database answers.
	source.heard.Store(&copied)
	source.lastSuccess.Store(copied.At.UnixNano())
	source.copied = true
	source.outage.Store(true)
	return copied.CursorKeys, nil
}

// CopiedAt returns of when the copy is that is in use, "" when the database has answered.
func (source *ServerKeys) CopiedAt() string {
	if source.outage.Load() {
		return source.LastSuccess().UTC().Format(time.RFC3339)
	}
	return ""
}
