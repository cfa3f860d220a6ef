package control

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// SilenceThreshold is how long a server may not report until that is a problem.
const SilenceThreshold = 10 * time.Minute

// Errors of Forget.
var (
	// ErrNoSuchServer: no server ever reported under that server id.
	ErrNoSuchServer = errors.New("no such server id")
	// ErrServerAlive: the server reported within SilenceThreshold.
	ErrServerAlive = errors.New("it reports")
)

// Server is a server as it last reported.
type Server struct {
	ServerID    string     `json:"incarnation"`
	Host        string     `json:"host"`
	Version     string     `json:"version"`
	Snapshot    string     `json:"snapshot_id"`
	Epoch       int64      `json:"epoch"`
	Images      string     `json:"images,omitempty"` // hash of its folder of card images
	Pending     int64      `json:"pending_rows"`
	StartedAt   time.Time  `json:"started_at"`
	SeenAt      time.Time  `json:"seen_at"`
	ExportedAt  *time.Time `json:"exported_at"` // when nothing was pending last
	ForgottenAt *time.Time `json:"forgotten_at,omitempty"`
	// RestoredAt is when the ledger was found to be an older copy last, and RestoredRows what it lacked.
	RestoredAt   *time.Time `json:"restored_at,omitempty"`
	RestoredRows int64      `json:"restored_rows,omitempty"`
	KeysVersion  *int64     `json:"keys_version,omitempty"` // nil: it does not say, as older versions
	ClockMillis  *int64     `json:"clock_ms,omitempty"`     // its clock, less the database's
	// SilentFor is how long it has not reported, by the database's clock; 0 up to SilenceThreshold.
	SilentFor time.Duration `json:"-"`
}

// Servers returns all servers, the forgotten ones last, and else by their last report.
func (db *DB) Servers(ctx context.Context) (all []Server, err error) {
	err = db.withTimeout(ctx, db.timeout, func(ctx context.Context) error {
		rows, _ := db.pool.Query(ctx, `select incarnation, host, version, snapshot, epoch, images, pending,
			started_at, seen_at, exported_at, forgotten_at, restored_at, restored_rows, keys_version, clock_ms,
			case when seen_at < now() - $1::interval then now() - seen_at else interval '0' end
			from ninepocket.servers order by forgotten_at nulls first, seen_at desc, incarnation`, SilenceThreshold)
		all, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Server])
		return err
	})
	return all, err
}

// HighestEpoch returns the highest epoch that a server of the fleet ever reported.
func (db *DB) HighestEpoch(ctx context.Context) (_ uint64, err error) {
	var epoch int64
	err = db.one(ctx, db.timeout, []any{&epoch}, "select coalesce(max(epoch), 0) from ninepocket.servers")
	return uint64(epoch), err
}

// Forget marks a silent server as gone, so that it is no problem any more. Its rows stay
// in the ledger, and it may report again. The error is ErrServerAlive if it is not silent.
func (db *DB) Forget(ctx context.Context, serverID string) error {
	return db.inTx(ctx, func(ctx context.Context, tx pgx.Tx) error {
		var reports bool
		err := tx.QueryRow(ctx, `update ninepocket.servers set forgotten_at = now() where incarnation = $1
			returning seen_at >= now() - $2::interval`, serverID, SilenceThreshold).Scan(&reports)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return fmt.Errorf("cannot forget %q: %w", serverID, ErrNoSuchServer)
		case err == nil && reports:
			return fmt.Errorf("cannot forget %q: %w", serverID, ErrServerAlive)
		}
		return err
	})
}

// Problem returns a message about a silent server, "" for others. reserved says how many units it has
// reserved, "" if that is unknown.
func (server *Server) Problem(reserved string) string {
	if server.SilentFor == 0 || server.ForgottenAt != nil {
		return ""
	}
	if reserved != "" {
		reserved = " and holds " + reserved
	}
	return fmt.Sprintf("server id %s has not reported for %s%s: start it, or fleet forget", server.ServerID,
		formatDuration(server.SilentFor), reserved)
}

// formatDuration formats a duration in the largest unit of which there are at least two.
func formatDuration(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d h", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
