package control

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// minPostgresVersion is the oldest version of PostgreSQL that is tested, as the server numbers it.
const minPostgresVersion = 140_000

// maxClockSkew is the largest difference of a server's clock and the database's that is not reported.
const maxClockSkew = 250 * time.Millisecond

// psql begins commands on the database of the configuration.
const psql = `psql "$NINEPOCKET_CONTROL"`

// Finding is the result of one check.
type Finding struct {
	What string `json:"what"`
	Good bool   `json:"good"`
	Text string `json:"text"`
	// Command inspects the fault, or repairs it.
	Command string `json:"command,omitempty"`
}

// Check checks everything that a fleet needs of its database. The error is that of a check that could
// not be made.
func (db *DB) Check(ctx context.Context, now func() time.Time) (all []Finding, err error) {
	var number int
	var version string
	var standby, durable bool
	var theirs time.Time
	var before, after time.Time
	err = db.withTimeout(ctx, db.timeout, func(ctx context.Context) error {
		err := db.pool.QueryRow(ctx, `select current_setting('server_version_num')::integer,
			current_setting('server_version'), pg_is_in_recovery(), current_setting('fsync')::boolean
			and current_setting('synchronous_commit') <> 'off'`).Scan(&number, &version, &standby, &durable)
		if err != nil {
			return err
		}
		before = now()
		err = db.pool.QueryRow(ctx, "select clock_timestamp()").Scan(&theirs)
		after = now()
		return err
	})
	if err != nil {
		return nil, err
	}

	addFinding := func(what string, good bool, is, isNot, command string) {
		text := map[bool]string{true: is, false: isNot}[good]
		all = append(all, Finding{what, good, db.String() + " " + text, command})
	}
	addFinding("version", number >= minPostgresVersion, "is version "+version,
		"is version "+version+", 14 or later is needed", psql+` -c "select version()"`)
	addFinding("primary", !standby, "can be written", "is a standby: give the one that is written",
		psql+` -c "select * from pg_stat_wal_receiver"`)
	addFinding("durable", durable, "keeps what it answered when its machine fails",
		"may lose what it answered when its machine fails: set fsync and synchronous_commit on",
		psql+` -c "alter system set fsync = on" -c "alter system set synchronous_commit = on" `+
			`-c "select pg_reload_conf()"`)

	// The database read its clock at some instant between before and after.
	skew := max(0, before.Sub(theirs), theirs.Sub(after))
	off := fmt.Sprintf("has a clock that is %.2f s from this machine's", skew.Seconds())
	addFinding("clock", skew <= maxClockSkew, off, off+": days go by it, run chrony on both", "chronyc tracking")
	if db.isOpen(ctx) {
		addFinding("password", false, "", "answers without a password: whoever reaches it can read and change "+
			"everything; let pg_hba.conf want scram-sha-256", psql+` -c "show hba_file"`)
	}
	servers, err := db.Servers(ctx)
	if err != nil {
		return nil, err
	}
	for i := range servers {
		if problem := servers[i].Problem(""); problem != "" {
			all = append(all, Finding{"server", false, problem, "ninepocket fleet status"})
		}
	}
	// Nothing is expected of the others, whose faults are said above.
	servers = slices.DeleteFunc(servers, func(server Server) bool {
		return server.SilentFor > 0 || server.ForgottenAt != nil || server.ExportedAt == nil
	})
	differ, err := db.differences(ctx, servers)
	if err != nil {
		return nil, err
	}
	all = append(all, differ...)
	if text := differentImages(servers); text != "" {
		all = append(all, Finding{"images", false, text, "ninepocket fleet status --json"})
	}
	plans, err := db.checkPlans(ctx)
	return append(all, plans...), err
}

// isOpen reports whether the database lets somebody in without a password and a certificate. Over a socket
// of its machine the system says who asks.
func (db *DB) isOpen(ctx context.Context) bool {
	config := db.pool.Config().ConnConfig.Copy()
	if strings.HasPrefix(config.Host, "/") {
		return false
	}
	// A fallback would try again with what is taken away here.
	config.Password = ""
	config.Fallbacks = nil
	if config.TLSConfig != nil {
		config.TLSConfig.Certificates = nil // of the copy
	}

	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return false
	}
	_ = conn.Close(ctx)
	return true
}

// maxServerSkew is the largest difference of clocks that a report of a server does not explain.
const maxServerSkew = 2 * time.Second

// differences returns what servers that report have not as the database or the other servers have it.
func (db *DB) differences(ctx context.Context, servers []Server) (all []Finding, err error) {
	var version, epoch int64
	err = db.one(ctx, db.timeout, []any{&version, &epoch},
		`select version, (select coalesce(max(epoch), 0) from ninepocket.servers
			where forgotten_at is null and seen_at > now() - $1::interval) from ninepocket.control`, SilenceThreshold)

	// A server of an older version does not say everything.
	for i := range servers {
		server := &servers[i]
		find := func(what, format string, args ...any) {
			all = append(all, Finding{what, false, serverLabel(server) + " " + fmt.Sprintf(format, args...) +
				", as of " + server.SeenAt.UTC().Format(time.TimeOnly) + " UTC", "ninepocket fleet status --json"})
		}

		if server.KeysVersion != nil && *server.KeysVersion != version {
			find("keys", "has keys of version %d, the database of %d: a revocation may not be in force",
				*server.KeysVersion, version)
		}
		if server.ClockMillis != nil && max(*server.ClockMillis, -*server.ClockMillis) > maxServerSkew.Milliseconds() {
			find("clock", "has a clock that is %.1f s from the database's: run chrony there",
				float64(*server.ClockMillis)/1000)
		}
		// Servers that are well take a release within seconds of each other.
		if server.Epoch < epoch {
			find("publication", "serves epoch %d, others %d: look at its log", server.Epoch, epoch)
		}
	}
	return all, err
}

// differentImages names the first two servers with different folders of card images, "" if all have the
// same. Whether a card has an image is part of its response and of its ETag.
func differentImages(servers []Server) string {
	for i := range servers {
		if servers[i].Images != servers[0].Images {
			return fmt.Sprintf("%s and %s have different folders of card images: give all servers the same files, "+
				"or answers and their ETags differ", serverLabel(&servers[0]), serverLabel(&servers[i]))
		}
	}
	return ""
}

// serverLabel names a server in messages.
func serverLabel(server *Server) string { return server.ServerID + " at " + server.Host }
