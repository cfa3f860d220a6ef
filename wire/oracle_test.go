package wire_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// The types of docs/API.md. Their members are in its order; decoding rejects any other member, and
// every member is required.
type (
	setRef struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	price struct {
		Currency  string `json:"currency"`
		Cents     *int64 `json:"market_price_cents"`
		UpdatedAt string `json:"price_updated_at"`
	}
	cardHead struct {
		ID       string  `json:"id"`
		Name     string  `json:"name"`
		Number   *string `json:"number"`
		Game     *string `json:"game"`
		GameName *string `json:"game_name"`
		Rarity   *string `json:"rarity"`
		Set      *setRef `json:"set"`
		Image    *string `json:"image_url"`
		URL      *string `json:"url"`
	}
	cardSummary struct {
		cardHead
		Price price `json:"price"`
	}
	cardDetail struct {
		cardHead
		Prices      []lanePrice  `json:"prices"`
		Identifiers []identifier `json:"identifiers"`
		Product     *string      `json:"product_id"`
	}
	lanePrice struct {
		Variant   string `json:"variant"`
		Condition string `json:"condition"`
		price
		Change7  *int64          `json:"change_7d_cents"`
		Percent7 *jsontext.Value `json:"change_7d_percent"`
		Change30 *int64          `json:"change_30d_cents"`
		Percent3 *jsontext.Value `json:"change_30d_percent"`
	}
	entry struct {
		ID string `json:"id"`
		price
	}
	mover struct {
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Number    *string         `json:"number"`
		Game      *string         `json:"game"`
		GameName  *string         `json:"game_name"`
		Set       *setRef         `json:"set"`
		URL       *string         `json:"url"`
		Currency  string          `json:"currency"`
		Cents     *int64          `json:"market_price_cents"`
		Change    *int64          `json:"price_change_cents"`
		Percent   *jsontext.Value `json:"price_change_percent"`
		UpdatedAt string          `json:"price_updated_at"`
	}
	gameList struct {
		Data []game `json:"data"`
	}
	game struct {
		Slug  string `json:"slug"`
		Name  string `json:"name"`
		Sets  int    `json:"set_count"`
		Cards int    `json:"card_count"`
	}
	setHead struct {
		ID       string  `json:"id"`
		Name     string  `json:"name"`
		Series   *string `json:"series"`
		Release  *string `json:"release_date"`
		Cards    *int    `json:"card_count"`
		Game     *string `json:"game"`
		GameName *string `json:"game_name"`
	}
	setDetail struct {
		setHead
		URL *string   `json:"url"`
		Top []topCard `json:"top_cards"`
	}
	topCard struct {
		ID       string  `json:"id"`
		Name     string  `json:"name"`
		Number   *string `json:"number"`
		URL      *string `json:"url"`
		Currency string  `json:"currency"`
		Cents    *int64  `json:"market_price_cents"`
	}
	point struct {
		Date     string `json:"date"`
		Variant  string `json:"variant"`
		Cents    int64  `json:"market_price_cents"`
		Currency string `json:"currency"`
	}
	history struct {
		ID   string  `json:"id"`
		Name string  `json:"name"`
		URL  *string `json:"url"`
		Days int     `json:"days"`
		Data []point `json:"data"`
	}
	end struct {
		Date  string `json:"date"`
		Cents int64  `json:"price_cents"`
	}
	summary struct {
		Variant string          `json:"variant"`
		Min     *int64          `json:"min_price_cents"`
		Max     *int64          `json:"max_price_cents"`
		Mean    *int64          `json:"average_price_cents"`
		First   *end            `json:"first"`
		Last    *end            `json:"last"`
		Change  *int64          `json:"change_cents"`
		Percent *jsontext.Value `json:"change_percent"`
		Points  int             `json:"data_points"`
	}
	stats struct {
		Currency string  `json:"currency"`
		ID       string  `json:"id"`
		Variant  *string `json:"variant"`
		Window   string  `json:"window"`
		From     string  `json:"window_start"`
		To       string  `json:"window_end"`
		Data     struct {
			Variants []summary `json:"variants"`
		} `json:"data"`
	}
	meta struct {
		RequestID  string `json:"request_id"`
		SnapshotAt string `json:"snapshot_at"`
		Units      int    `json:"billable_units"`
		Replay     bool   `json:"idempotent_replay"`
	}
	usage struct {
		Data struct {
			Tenant    string `json:"tenant_id"`
			From      string `json:"period_start"`
			To        string `json:"period_end"`
			Limit     int64  `json:"request_credits_limit"`
			Used      int64  `json:"request_credits_used"`
			Remaining int64  `json:"request_credits_remaining"`
			PerMinute int64  `json:"rate_limit_per_minute"`
		} `json:"data"`
		Meta meta `json:"meta"`
	}
	problem struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Status    int    `json:"status"`
		Detail    string `json:"detail"`
		Code      string `json:"code"`
		RequestID string `json:"request_id"`
		Retry     *int   `json:"retry_after_seconds,omitzero"`
	}
	envelope struct {
		Error struct {
			Code      string `json:"code"`
			Message   string `json:"message"`
			RequestID string `json:"request_id"`
			Retry     *int   `json:"retry_after_seconds"`
		} `json:"error"`
	}
)

// decode reads JSON strictly and expects the exact encoding of T: the members in their order,
// without spaces or unnecessary escapes.
func decode[T any](t testing.TB, b []byte) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(b, &v, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%s\n%v", b, err)
	}

	again, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}

	if string(again) != string(b) {
		t.Fatalf("want the members and spelling of\n%s\ngot\n%s", again, b)
	}

	return v
}

func equal[T any](t testing.TB, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// nullable returns a column's string for JSON: null if empty.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func to[T any](v T) *T { return &v }

func TestDecodeIsStrict(t *testing.T) {
	for _, bad := range []string{
		`{"id":"a","name":"b","x":1}`, `{"name":"b","id":"a"}`, `{"id":"a"}`, `{"id":"a", "name":"b"}`,
		`{"id":"a","name":"b","name":"b"}`,
		`{"id":"\u0061","name":"b"}`, `{"id":null,"name":"b"}`, `{"ID":"a","name":"b"}`,
	} {
		if !strings.Contains(failure(func(tb testing.TB) { decode[setRef](tb, []byte(bad)) }), "{") {
			t.Errorf("%s is taken", bad)
		}
	}
}

// failure runs a check and returns its failure, "" if it passes.
func failure(check func(testing.TB)) string {
	f := &failing{}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(f) {
				panic(r)
			}
		}()
		check(f)
	}()

	return f.what
}

// failing is a test that records its failure.
type failing struct {
	testing.TB
	what string
}

func (f *failing) Helper() {}
func (f *failing) Fatalf(format string, args ...any) {
	f.what = format
	for _, a := range args {
		if b, ok := a.([]byte); ok {
			f.what += string(b)
		}
	}
	panic(f)
}
