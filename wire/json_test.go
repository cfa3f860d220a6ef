package wire_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"ninepocket/snapshot"
	"ninepocket/wire"
)

func TestAppendString(t *testing.T) {
	f := func(s, want string) {
		t.Helper()
		if got := string(wire.AppendString([]byte("x"), s)); got != "x"+want {
			t.Errorf("%q is spelt %s, want %s", s, got[1:], want)
		}
	}

	f("", `""`)
	f("Pikachu", `"Pikachu"`)
	f("Flabébé ♀ 🃏", `"Flabébé ♀ 🃏"`)
	f(`"Ace" \ D.`, `"\"Ace\" \\ D."`)
	f("</script>&'/", `"</script>&'/"`)
	f("a\nb\rc\td", `"a\nb\rc\td"`)
	f("\x00\x01\x1f\x7f", "\"\\u0000\\u0001\\u001f\x7f\"")
	f("\u2028\u2029\ufeff\ufffd", "\"\u2028\u2029\ufeff\ufffd\"")
	f("a\xffb\xc3", "\"a\ufffdb\ufffd\"")
	f("\xed\xa0\x80", "\"\ufffd\ufffd\ufffd\"") // half of a surrogate pair
	f("é\xc3", "\"é\ufffd\"")
}

// FuzzString encodes any string: it must decode to the same one, with bytes that are not UTF-8
// replaced, and with as few escapes as JSON needs.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "Pikachu", `"\/`, "\b\f\n\r\t", "a\x00\xff\u2028é", "\xed\xa0\x80\xf0\x9f\x83\x8f"} {
		f.Add(s)
	}

	f.Fuzz(func(t *testing.T, s string) {
		b := wire.AppendString(nil, s)
		want := string([]rune(s)) // a replacement for each bad byte
		var std string
		if err := json.Unmarshal(b, &std); err != nil || std != want {
			t.Fatalf("%q is spelt %s and read as %q, %v", s, b, std, err)
		}

		if v := jsontext.Value(b); !v.IsValid() {
			t.Fatalf("%q is spelt %s, which strict JSON does not take", s, b)
		} else if encoded := string(b); v.Canonicalize() != nil || string(v) != encoded { // in place
			t.Fatalf("%q is spelt %s, canonically %s", s, encoded, v)
		}
	})
}

func TestNullAndCents(t *testing.T) {
	f := func(got []byte, want string) {
		t.Helper()
		if string(got) != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	f(wire.AppendNullable(nil, "", ""), "null")
	f(wire.AppendNullable(nil, "", "4/102"), `"4/102"`)
	f(wire.AppendCents(nil, "", snapshot.NoCents), "null")
	f(wire.AppendCents(nil, "", 0), "0")
	f(wire.AppendCents(nil, "", snapshot.MaxCents), "9007199254740991")
}

// percentOracle returns 100·part/whole by exact arithmetic, rounded half away from zero to two
// decimals.
func percentOracle(part, whole int64) string {
	// FloatString rounds halves away from zero.
	s := new(big.Rat).Mul(big.NewRat(part, whole), big.NewRat(100, 1)).FloatString(2)
	s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

func TestIntegers(t *testing.T) {
	f := func(t rapid.TB, n int64) {
		want := "xy" + strconv.FormatInt(n, 10)
		if got := string(wire.AppendInt([]byte("x"), "y", n)); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}

	for _, n := range []int64{0, math.MaxInt64, math.MinInt64} {
		f(t, n)
	}
	for power := int64(1); power < math.MaxInt64/10; power *= 10 {
		for _, n := range []int64{power - 1, power, power + 1, 10*power - 1} {
			f(t, n)
			f(t, -n)
		}
	}
	rapid.Check(t, func(t *rapid.T) { f(t, rapid.Int64().Draw(t, "n")) })
}

func TestPercent(t *testing.T) {
	f := func(part, whole int64, want string) {
		t.Helper()
		if got := string(wire.AppendPercent(nil, part, whole)); got != want || want != percentOracle(part, whole) {
			t.Errorf("100·%d/%d is %s, want %s (%s)", part, whole, got, want, percentOracle(part, whole))
		}
	}

	f(0, 1, "0")
	f(1, 3, "33.33")
	f(2, 3, "66.67")
	f(-2, 3, "-66.67")
	f(1, 8, "12.5")
	f(1, 1, "100")
	f(1, 800, "0.13") // 0.125
	f(-1, 800, "-0.13")
	f(1, 20_000, "0.01") // 0.005
	f(-1, 20_000, "-0.01")
	f(1, 20_001, "0")
	f(-1, 20_001, "0")
	f(19_999, 20_000, "100") // 99.995
	f(snapshot.MaxCents, 1, "900719925474099100")
	f(-snapshot.MaxCents, 1, "-900719925474099100")
	f(snapshot.MaxCents, snapshot.MaxCents, "100")
	f(snapshot.MaxCents-1, snapshot.MaxCents, "100")
	f(1, snapshot.MaxCents, "0")

	amount := rapid.OneOf(rapid.Int64Range(0, 500), rapid.Int64Range(0, snapshot.MaxCents),
		rapid.SampledFrom([]int64{0, 1, 2, snapshot.MaxCents - 1, snapshot.MaxCents}))

	for range 20 {
		rapid.Check(t, func(t *rapid.T) {
			part := amount.Draw(t, "part")
			whole := max(amount.Draw(t, "whole"), 1)
			if rapid.Bool().Draw(t, "negative") {
				part = -part
			}

			if got, want := string(wire.AppendPercent(nil, part, whole)), percentOracle(part, whole); got != want { // air: got and want
				t.Fatalf("100·%d/%d is %s, want %s", part, whole, got, want)
			}

			units, hundredths, negative := wire.Percent(part, whole)
			if hundredths > 99 || negative != (part < 0) || units > 1<<62 {
				t.Fatalf("100·%d/%d is %d.%d, negative %t", part, whole, units, hundredths, negative)
			}
		})
	}
}

func TestAppendChange(t *testing.T) {
	f := func(base, now int64, want string) {
		t.Helper()
		if got := string(wire.AppendChange([]byte("{"), `,"c":`, `,"p":`, base, now)); got != "{"+want {
			t.Errorf("from %d to %d: %s, want %s", base, now, got[1:], want)
		}
	}

	f(100, 150, `,"c":50,"p":50`)
	f(150, 100, `,"c":-50,"p":-33.33`)
	f(100, 100, `,"c":0,"p":0`)
	f(0, 100, `,"c":100,"p":null`)
	f(0, 0, `,"c":0,"p":null`)
	f(snapshot.NoCents, 100, `,"c":null,"p":null`)
	f(100, snapshot.NoCents, `,"c":null,"p":null`)
	f(100, 0, `,"c":-100,"p":-100`)
	f(1, snapshot.MaxCents, `,"c":9007199254740990,"p":900719925474099000`)
	f(snapshot.MaxCents, 0, `,"c":-9007199254740991,"p":-100`)
}

// previewTime is the pattern of the preview contract's date-times.
var previewTime = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?Z$`)

func TestTimes(t *testing.T) {
	f := func(ms int64, seconds, millis string) {
		t.Helper()
		if got := string(wire.AppendSeconds(nil, "", ms)); got != `"`+seconds+`"` {
			t.Errorf("%d ms in seconds is %s, want %s", ms, got, seconds)
		}
		if got := string(wire.AppendMillis(nil, "", ms)); got != `"`+millis+`"` {
			t.Errorf("%d ms is %s, want %s", ms, got, millis)
		}
	}

	f(0, "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z")
	f(1_773_518_730_000, "2026-03-14T20:05:30Z", "2026-03-14T20:05:30Z")
	f(1_773_518_730_250, "2026-03-14T20:05:30Z", "2026-03-14T20:05:30.25Z")
	f(1_773_518_730_999, "2026-03-14T20:05:30Z", "2026-03-14T20:05:30.999Z")
	f(1_773_518_730_001, "2026-03-14T20:05:30Z", "2026-03-14T20:05:30.001Z")
	f(1_773_518_730_100, "2026-03-14T20:05:30Z", "2026-03-14T20:05:30.1Z")
	f(-1, "1969-12-31T23:59:59Z", "1969-12-31T23:59:59.999Z")
	f(253_402_300_799_999, "9999-12-31T23:59:59Z", "9999-12-31T23:59:59.999Z")
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.Int64Range(-62_167_219_200_000, 253_402_300_799_999).Draw(t, "ms")
		millis := strings.Trim(string(wire.AppendMillis(nil, "", ms)), `"`)
		if back, err := time.Parse(time.RFC3339Nano, millis); err != nil || back.UnixMilli() != ms ||
			!previewTime.MatchString(millis) {
			t.Fatalf("%d ms is %s, %v", ms, millis, err)
		}
		seconds := strings.Trim(string(wire.AppendSeconds(nil, "", ms)), `"`)
		if back, err := time.Parse("2006-01-02T15:04:05Z", seconds); err != nil || ms-back.UnixMilli() < 0 ||
			ms-back.UnixMilli() > 999 {
			t.Fatalf("%d ms is %s, %v", ms, seconds, err)
		}
	})
}

// TestNoTimes encodes times that no valid catalog has. They may be wrong but must not panic,
// because a View is made before the guards run.
func TestNoTimes(*testing.T) {
	for _, ms := range []int64{
		snapshot.NoTime, math.MinInt64, math.MinInt64 + 1, math.MaxInt64, -62_167_219_200_001,
		253_402_300_800_000,
	} {
		wire.AppendMillis(nil, "", ms)
		wire.AppendSeconds(nil, "", ms)
	}

	for _, day := range []snapshot.Day{snapshot.NoDay, math.MinInt32, math.MaxInt32, -719_529, 2_932_897} {
		wire.AppendDay(nil, day)
	}
}

// TestDays encodes every day of over four centuries, and some days of all ten thousand years.
func TestDays(t *testing.T) {
	f := func(day snapshot.Day) {
		want := time.Unix(int64(day)*86_400, 0).UTC().Format(time.DateOnly)
		if got := string(wire.AppendDay([]byte("x"), day)); got != "x"+want || day.String() != want {
			t.Fatalf("day %d is %s and %s, want %s", day, got, day, want)
		}
	}

	const first, last = snapshot.Day(-719_528), snapshot.Day(2_932_896)
	for day := first; day < first+150_000; day++ {
		f(day)
	}

	for day := first; day <= last; day += 29 {
		f(day)
	}

	f(last)
}

// TestSafePrefixLen puts every byte at every place of texts of several lengths.
func TestSafePrefixLen(t *testing.T) {
	for n := range 28 {
		text := []byte(strings.Repeat("a~ !#[]\x7f0Z", 3)[:n])
		if got := wire.SafePrefixLen(string(text)); got != n {
			t.Fatalf("%q has %d plain bytes", text, got)
		}

		for i := range n {
			for b := range 256 {
				same := text[i]
				text[i] = byte(b)
				want := n
				if b < ' ' || b == '"' || b == '\\' || b >= 0x80 {
					want = i
				}

				if got := wire.SafePrefixLen(string(text)); got != want {
					t.Fatalf("%q has %d plain bytes, want %d", text, got, want)
				}

				text[i] = same
			}
		}
	}
}

// TestCents compares amounts with strconv, all short ones and the edges of long ones.
func TestCents(t *testing.T) {
	f := func(cents int64) {
		if got := string(wire.AppendCents([]byte("x"), "", cents)); got != "x"+strconv.FormatInt(cents, 10) {
			t.Fatalf("%d is %s", cents, got)
		}
	}

	for cents := range int64(200_000) {
		f(cents)
	}

	for power := int64(100_000); power < snapshot.MaxCents/10; power *= 10 {
		f(power - 1)
		f(power)
		f(power + 1)
	}
}

func TestImageAddress(t *testing.T) {
	const prefix = "https://img.example/cards/"
	for _, file := range []string{"4.png", "a b.png", "übung%20?.webp", "a/../b.png", `q"\'<>&#.png`, "\t.png"} {
		c := oneCard(t, func(c *card) { c.Image = file })
		got := decode[cardSummary](t, summaryOf(c, 0,
			&wire.URLs{URL: "https://x.example", Images: prefix}))
		u, err := url.Parse(*got.Image)
		if err != nil || u.RawQuery != "" || u.Fragment != "" || strings.Count(u.EscapedPath(), "/") != 2 ||
			u.Path != "/cards/"+file {
			t.Errorf("image %q is at %s (%v)", file, *got.Image, err)
		}
	}

	c := oneCard(t, func(c *card) { c.Image = "" })
	if got := decode[cardSummary](t, summaryOf(c, 0, &wire.URLs{Images: prefix})); got.Image != nil {
		t.Errorf("a card without an image has %s", *got.Image)
	}

	c = oneCard(t, func(c *card) { c.Image = "4.png" })
	if got := decode[cardSummary](t, summaryOf(c, 0, &wire.URLs{})); got.Image != nil {
		t.Errorf("without an image folder a card has %s", *got.Image)
	}
}

func ExampleAppendPercent() {
	fmt.Println(string(wire.AppendPercent(nil, -1, 3)))
	// Output: -33.33
}
