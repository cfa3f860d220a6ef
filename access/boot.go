package access

// boot is a moment as the machine counts it since it was started: a restart of the server within one
// boot knows how much time passed, whatever the wall clock says (decision 1755).
type boot struct {
	id string // of the boot, "" when the system does not say
	at int64  // milliseconds since then, time in suspend included
}

// since returns how long ago another moment of the same boot is; ok is false for another boot.
func (later boot) since(then boot) (millis int64, ok bool) {
	if later.id == "" || later.id != then.id {
		return 0, false
	}
	return max(0, later.at-then.at), true
}
