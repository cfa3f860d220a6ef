package control

import (
	"context"
	"fmt"
	"time"
)

// minPostgresVersion is the oldest version of PostgreSQL that is tested, as the server numbers it.
const minPostgresVersion = 140_000

// maxClockSkew is the largest difference of a server's clock and the database's that is not reported.
const maxClockSkew = 250 * time.Millisecond

// Finding is the result of one check.
type Finding struct {
	What string `json:"what"`
	Good bool   `json:"good"`
	Text string `json:"text"`
}

// Check checks everything that a fleet needs of its database. The error is that of a check that could
// not be made.
func (db *DB) Check(ctx context.Context, now func() time.Time) (all []Finding, err error) {
	var number int
	var version string
	var standby, durable bool
	var theirs time.Time
	var before, after time.Time
	err = db.query(ctx, func(ctx context.Context) error {
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

	addFinding := func(what string, good bool, is, isNot string) {
		if !good {
			is = isNot
		}
		all = append(all, Finding{what, good, db.String() + " " + is})
	}
	addFinding("version", number >= minPostgresVersion, "is version "+version,
		"is version "+version+", 14 or later is needed")
	addFinding("primary", !standby, "can be written", "is a standby: give the one that is written")
	addFinding("durable", durable, "keeps what it answered when its machine fails",
		"may lose what it answered when its machine fails: set fsync and synchronous_commit on")

	// The database read its clock at some instant between before and after.
	skew := time.Duration(0)
	switch {
	case theirs.Before(before):
		skew = before.Sub(theirs)
	case theirs.After(after):
		skew = theirs.Sub(after)
	}
	off := fmt.Sprintf("has a clock that is %.2f s from this machine's", skew.Seconds())
	addFinding("clock", skew <= maxClockSkew, off, off+": days go by it, run chrony on both")

	servers, err := db.Servers(ctx)
	if err != nil {
		return nil, err
	}
	for i := range servers {
		if problem := servers[i].Problem(""); problem != "" {
			all = append(all, Finding{"server", false, problem})
		}
	}
	if text := differentImages(servers); text != "" {
		all = append(all, Finding{"images", false, text})
	}
	plans, err := db.checkPlans(ctx)
	return append(all, plans...), err
}

// differentImages names the first two servers with different folders of card images, "" if all that
// report have the same. Whether a card has an image is part of its response and of its ETag.
func differentImages(servers []Server) string {
	var first *Server
	for i := range servers {
		server := &servers[i]

		switch {
		case server.SilentFor > 0 || server.ForgottenAt != nil || server.ExportedAt == nil:
		case first == nil:
			first = server
		case server.Images != first.Images:
			return fmt.Sprintf("%s and %s have different folders of card images: give all servers the same files, "+
				"or answers and their ETags differ", serverLabel(first), serverLabel(server))
		}
	}
	return ""
}

// serverLabel names a server in messages.
func serverLabel(server *Server) string { return server.Incarnation + " at " + server.Host }
