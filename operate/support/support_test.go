package support

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/snapshot"
)

// secret returns a text that is nowhere else.
func secret() string { return fmt.Sprintf("hunter%dsecret", rand.Uint64()) }

// plant puts a secret into everything below a value that can hold a text, and returns how many fields had room.
func plant(v reflect.Value, text string) (n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return 1

	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.String {
			v.Set(reflect.ValueOf([]string{text, "live", "https://" + text + "/" + text}))
			return 1
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				n += plant(v.Field(i), text)
			}
		}
	}
	return n
}

// TestNoSecretOfSettings plants a secret into each field of the configuration, found by reflection, and into a plan's
// name. The bundle lacks the secret, and has the public figures.
func TestNoSecretOfSettings(t *testing.T) {
	text := secret()
	config := settings.Merged{Config: settings.Default()}
	if n := plant(reflect.ValueOf(&config.Config).Elem(), text); n < 50 {
		t.Fatalf("only %d fields of the configuration hold texts", n)
	}
	plan := settings.Plan{PerMinute: 77}
	plant(reflect.ValueOf(&plan).Elem(), text)
	config.Plans = map[string]*settings.Plan{text: &plan, "pro": {PerMinute: 601}}
	config.MaxConnections = 4711

	bundle := collected(t, &Sources{Config: &config, Store: snapshot.OpenStore(filepath.Join(t.TempDir(), text))})
	if strings.Contains(bundle, text) || strings.Contains(bundle, "hunter") {
		t.Errorf("the bundle has the secret %s:\n%s", text, bundle)
	}
	for _, want := range []string{
		`"max_connections": 4711`, `"plans.pro.per_minute": 601`, `"plans.plan1.per_minute": 77`, `"log_format": "***"`,
		`"guards.minimum_cards": `, `"problem": "nothing is published, or it cannot be read"`,
	} {
		if !strings.Contains(bundle, want) {
			t.Errorf("the bundle lacks %s:\n%s", want, bundle)
		}
	}
}

// TestNoSecretOfFileAndEnvironment plants a secret into each variable, and reads them as serve does.
func TestNoSecretOfFileAndEnvironment(t *testing.T) {
	text := secret()
	n := 0

	for _, setting := range settings.Settings {
		name := strings.Replace(setting.EnvName(), "NAME", "PRO", 1)
		read, err := settings.Read("", []string{name + "=" + text}, func(string) {})
		if err != nil {
			continue // a number, and the error stops the command
		}
		n++
		bundle := collected(t, &Sources{Config: &read, Store: snapshot.OpenStore(t.TempDir())})
		if strings.Contains(bundle, text) {
			t.Errorf("the bundle has the secret of %s", name)
		}
	}
	if n < 50 {
		t.Errorf("only %d variables took a text", n)
	}
}

// TestNoSecretOfLog plants a secret into each part of lines in both formats: messages, keys, values, causes,
// addresses, other programs' lines.
func TestNoSecretOfLog(t *testing.T) {
	text := secret()
	var lines bytes.Buffer
	for _, format := range []string{"json", "text"} {
		// Its messages are not constants, so the records go to the handler.
		handler := term.NewLog(&lines, format, false).Handler()
		write := func(level slog.Level, message string, attributes ...slog.Attr) {
			record := slog.NewRecord(time.Now(), level, message, 0)
			record.AddAttrs(attributes...)
			if err := handler.Handle(t.Context(), record); err != nil {
				t.Fatal(err)
			}
		}

		for message := range messages {
			write(slog.LevelInfo, message, slog.String("tenant", text),
				slog.Any("cause", errors.New("open /"+text+": permission denied")),
				slog.String("snapshot_id", text), slog.String(text, "1"), slog.Group(text, slog.Int("rows", 1)),
				slog.Int("rows", 12), slog.String("of", "https://user:"+text+"@host/?password="+text))
			write(slog.LevelError, message+" "+text, slog.String("request_id", text))
			write(slog.LevelWarn, text+" "+message, slog.Any("keys", []string{text}))
		}
	}
	fmt.Fprintf(&lines, "panic: %[1]s\n\n%[1]s\n%[1]s INF %[1]s\n", text)
	fmt.Fprintf(&lines, "{\"time\":%[1]q,\"level\":%[1]q,\"msg\":%[1]q}\n", text)
	fmt.Fprintln(&lines, strings.Repeat(text, 1000))

	var out bytes.Buffer
	err := filterLog(&out, bytes.NewReader(lines.Bytes()))
	filtered := out.Bytes()
	if err != nil || bytes.Contains(filtered, []byte(text)) {
		at := bytes.Index(filtered, []byte(text))
		t.Fatalf("%v, and the log has the secret: %s", err, filtered[max(0, at-200):][:300])
	}
	if !bytes.Contains(filtered, []byte(`cause="permission denied" rows=12 tenant=t1`)) {
		t.Errorf("the log has lost its figures: %.600s", filtered)
	}
}

// TestFilteredLog shows what becomes of lines.
func TestFilteredLog(t *testing.T) {
	var log bytes.Buffer
	for _, format := range []string{"text", "json"} {
		logger := term.NewLog(&log, format, false)
		for _, tenant := range []string{"acme", "other", "acme"} {
			logger.Error("redis away: the limiter is unavailable, requests get 503 and are not charged",
				slog.String("tenant", tenant), slog.Duration("by", 1500*time.Millisecond),
				slog.String("snapshot_id", "20260822T010203Z-0123456789abcdef"))
		}
	}

	var filtered bytes.Buffer
	if err := filterLog(&filtered, &log); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^\S+Z?\S* `).ReplaceAllString(filtered.String(), "")
	want := []string{}
	for _, shown := range [][2]string{{"ERR", "1.5s"}, {"ERROR", "1.5s"}} {
		for _, tenant := range []string{"t1", "t2", "t1"} {
			want = append(want, shown[0]+
				" redis away: the limiter is unavailable, requests get 503 and are not charged by="+shown[1]+
				" snapshot_id=20260822T010203Z-0123456789abcdef tenant="+tenant)
		}
	}
	if got != strings.Join(want, "\n")+"\n" {
		t.Errorf("got\n%s, want\n%s", got, strings.Join(want, "\n"))
	}
}

// TestFigures wants values written as the type of their key, and nothing else of a log.
func TestFigures(t *testing.T) {
	for _, test := range []struct{ key, value, want string }{
		{"rows", "12", "12"},
		{"rows", "+0012", "12"},
		{"rows", "12 rows", ""},
		{"rows", "true", ""},
		{"took", "90s", "1m30s"},
		{"took", "1500000000", "1.5s"},
		{"took", "hunter2", ""},
		{"at", "2026-08-22T01:02:03.123456789Z", "2026-08-22T01:02:03Z"},
		{"at", "4111111111111111", ""},
		{"from_gomemlimit", "true", "true"},
		{"from_gomemlimit", "1", ""},
		{"snapshot_id", "20260822T010203Z-0123456789abcdef", "20260822T010203Z-0123456789abcdef"},
		{"snapshot_id", "4111111111111111", ""},
		{"keys", "4111111111111111", ""},
		{"password", "1234", ""},
	} {
		if got := figure(test.key, test.value); got != test.want {
			t.Errorf("%s=%s becomes %q, want %q", test.key, test.value, got, test.want)
		}
	}

	var filtered bytes.Buffer
	line := `{"time":"2026-08-22T01:02:03Z","level":"WARN","msg":"settings wait for a restart","keys":4111111111111111}`
	if err := filterLog(&filtered, strings.NewReader(line)); err != nil ||
		filtered.String() != "2026-08-22T01:02:03Z WARN settings wait for a restart\n" {
		t.Errorf("%v, %q", err, &filtered)
	}
}

// TestMixedLog wants the newest lines of the log although most lines are of an access log, and an endless one
// skipped.
func TestMixedLog(t *testing.T) {
	var log bytes.Buffer
	for range maxLines {
		log.WriteString("2026-08-22T01:02:03Z INF keys changed rows=7\n")
	}
	log.WriteString(strings.Repeat("x", 3*maxBytes) + "\n")
	for range 3 * maxLines {
		log.WriteString(`{"time":"2026-08-22T01:02:04Z","request_id":"req_1","tenant":"acme","status":200}` + "\n")
	}
	log.WriteString("2026-08-22T01:02:05Z INF draining")

	var filtered bytes.Buffer
	if err := filterLog(&filtered, &log); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(filtered.String()), "\n")
	if first := "2026-08-22T01:02:03Z INF keys changed rows=7"; len(lines) != maxLines || lines[0] != first ||
		lines[1] != first || lines[maxLines-1] != "2026-08-22T01:02:05Z INF draining" {
		t.Errorf("%d lines: %.300s", len(lines), filtered.String())
	}
}

// collected returns a bundle.
func collected(t *testing.T, from *Sources) string {
	t.Helper()
	text, err := Collect(from)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
