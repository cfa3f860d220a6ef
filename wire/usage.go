package wire

import "strconv"

// Meta is the meta member of the preview contract's successes and of live usage.
type Meta struct {
	RequestID  string
	SnapshotAt int64 // ms
	Units      int   // billable_units: 0 or 1
	Replay     bool
}

// AppendMeta appends a Meta object.
func AppendMeta(dst []byte, meta Meta) []byte {
	dst = AppendText(dst, `{"request_id":`, meta.RequestID)
	dst = AppendMillis(dst, `,"snapshot_at":`, meta.SnapshotAt)
	dst = AppendInt(dst, `,"billable_units":`, int64(meta.Units))
	dst = append(dst, `,"idempotent_replay":`...)
	dst = strconv.AppendBool(dst, meta.Replay)
	return append(dst, '}')
}

// Usage is a tenant's use of its quota; the period is [From, To) in ms.
type Usage struct {
	Tenant                            string
	From, To                          int64
	Limit, Used, Remaining, PerMinute int64
	// Plan is the name of the plan. Minute is the state of the key's minute limit; ResetAt, in ms,
	// is when the next request becomes possible. Only live keys get these two.
	Plan   string
	Minute struct{ Limit, Remaining, ResetAt int64 }
	// NextPublication is when the next snapshot is expected, in ms; 0 for unknown.
	NextPublication int64
	// Attribution names the sources of the served prices, which may be used until UseUntil, in ms. Only
	// live keys get these two.
	Attribution string
	UseUntil    int64
}

// AppendUsage appends the data of get usage. A meta member must follow, which ends the body.
func AppendUsage(dst []byte, u Usage) []byte {
	dst = AppendText(dst, `{"data":{"tenant_id":`, u.Tenant)
	dst = AppendMillis(dst, `,"period_start":`, u.From)
	dst = AppendMillis(dst, `,"period_end":`, u.To)
	dst = AppendInt(dst, `,"request_credits_limit":`, u.Limit)
	dst = AppendInt(dst, `,"request_credits_used":`, u.Used)
	dst = AppendInt(dst, `,"request_credits_remaining":`, u.Remaining)
	dst = AppendInt(dst, `,"rate_limit_per_minute":`, u.PerMinute)
	if u.Plan == "" {
		return append(dst, '}')
	}

	dst = AppendText(dst, `,"plan":`, u.Plan)
	dst = AppendInt(dst, `,"minute":{"limit":`, u.Minute.Limit)
	dst = AppendInt(dst, `,"remaining":`, u.Minute.Remaining)
	dst = append(AppendMillis(dst, `,"reset_at":`, u.Minute.ResetAt), '}')
	if u.NextPublication != 0 {
		dst = AppendMillis(dst, `,"next_publication_at":`, u.NextPublication)
	}
	dst = AppendText(dst, `,"attribution":`, u.Attribution)
	dst = AppendMillis(dst, `,"use_until":`, u.UseUntil)
	return append(dst, '}')
}
