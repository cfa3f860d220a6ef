package control

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestCheckComparesServers wants each server that has not what the database or the others have to be named.
func TestCheckComparesServers(t *testing.T) {
	db, _ := open(t)
	source := &memorySource{}
	for _, name := range []string{"s1", "s2", "s3"} {
		ex := exporter(t, db, name, source)
		ex.options.Now = time.Now
		do(t, ex.heartbeat(t.Context()))
		if ex.KeysBehind() != 0 {
			t.Errorf("%s is %d changes behind", name, ex.KeysBehind())
		}
		const plans = `{"free": {"per_minute": 60}}`
		do(t, db.exec(t.Context(), time.Minute, "select ninepocket.report_plans($1, $2)", name, plans))
	}
	if all := wrongOf(t, db); len(all) != 0 {
		t.Errorf("equal servers: %q", all)
	}

	do(t, db.exec(t.Context(), time.Minute, `update ninepocket.control set version = 5`))
	do(t, db.exec(t.Context(), time.Minute, `update ninepocket.servers set keys_version = case incarnation
		when 's1' then 4 when 's2' then 5 end, epoch = case incarnation when 's3' then 6 else 7 end,
		clock_ms = case incarnation when 's2' then -290600 else 1900 end`))
	all := strings.Join(wrongOf(t, db), "\n")
	for _, want := range []string{
		"s1 at test has keys of version 4, the database of 5: a revocation may not be in force",
		"s2 at test has a clock that is -290.6 s from the database's", "s3 at test serves epoch 6, others 7",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%s\nlacks %s", all, want)
		}
	}
	if strings.Count(all, "\n") != 2 {
		t.Errorf("more is wrong: %s", all)
	}
	ex := exporter(t, db, "s4", source)
	do(t, ex.heartbeat(t.Context()))
	if ex.KeysBehind() != 5 {
		t.Errorf("%d changes behind, want 5", ex.KeysBehind())
	}
}

// wrongOf returns what Check finds wrong, but for fsync, which tests do without.
func wrongOf(t *testing.T, db *DB) (texts []string) {
	t.Helper()
	all, err := db.Check(t.Context(), time.Now)
	do(t, err)
	for _, one := range all {
		if !one.Good && one.What != "durable" {
			texts = append(texts, one.Text)
			if one.Command == "" {
				t.Errorf("%+v has no command", one)
			}
		}
	}
	return texts
}

// TestCheckNamesAnOpenDatabase lets everybody in, and wants that to be found.
func TestCheckNamesAnOpenDatabase(t *testing.T) {
	db, _ := open(t)
	var file string
	do(t, db.pool.QueryRow(t.Context(), "select current_setting('hba_file')").Scan(&file))
	before, err := os.ReadFile(file)
	do(t, err)
	reload := func(rules string) {
		do(t, os.WriteFile(file, []byte(rules), 0o600))
		do(t, db.exec(t.Context(), time.Minute, "select pg_reload_conf()"))
	}
	defer reload(string(before))
	reload("host all all 127.0.0.1/32 trust\n" + string(before))

	for deadline := time.Now().Add(time.Minute); ; {
		all := strings.Join(wrongOf(t, db), "\n")
		if strings.Contains(all, "answers without a password") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("found: %q", all)
		}
	}
}

// TestOlderSchema wants the columns of later versions in a database of an older one, whose servers go on.
func TestOlderSchema(t *testing.T) {
	db, url := open(t)
	do(t, db.exec(t.Context(), time.Minute,
		"alter table ninepocket.servers drop column keys_version, drop column clock_ms"))
	again, err := Open(t.Context(), url)
	do(t, err)
	defer again.Close()
	older := `insert into ninepocket.servers (incarnation, session, host, version, exported_at)
		values ('old', 's', 'h', 'v', now())`
	do(t, again.exec(t.Context(), time.Minute, older))
	if all := wrongOf(t, again); len(all) != 1 || !strings.Contains(all[0], "does not report its plans") {
		t.Errorf("an older server: %q", all)
	}
}
