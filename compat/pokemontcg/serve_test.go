package pokemontcg_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/calendar"
	"ninepocket/compat/pokemontcg"
	"ninepocket/internal/settings"
	"ninepocket/internal/synth"
	"ninepocket/loader"
	"ninepocket/loader/source"
	"ninepocket/node"
	"ninepocket/operate"
	"ninepocket/snapshot"
)

// served is a server of the API, with a live key of a wide plan and another of a narrow plan.
type served struct {
	t            *testing.T
	store, state string
	url          string
	key          string
	narrow       string
	stop         func()
}

// publish builds a catalog of sources and publishes it.
func (s *served) publish(sources []loader.Input) (id string) {
	s.t.Helper()
	build := operate.Build{Store: s.store, Options: loader.Options{Sources: sources}}
	made, err := build.Run(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	publish := snapshot.PublishOptions{Now: time.Now(), Check: func(*snapshot.Catalog) error { return nil }}
	if _, err := snapshot.OpenStore(s.store).Publish(made.ID, publish); err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// serves builds a catalog of sources and serves it.
func serves(t *testing.T, change func(*settings.Config), sources ...loader.Input) *served {
	t.Helper()
	dir := t.TempDir()
	config := settings.Default()
	config.Store = filepath.Join(dir, "store")
	config.State = filepath.Join(dir, "state")
	config.Listen = "127.0.0.1:0"
	config.Admin = "127.0.0.1:0"
	config.DrainLead = "0s"
	config.Compat.PokemonTCG = true
	config.TrustedProxies = []string{"127.0.0.1"}
	config.Plans = map[string]*settings.Plan{
		"wide": {PerMinute: 1_000_000, PerDay: 1_000_000_000}, "narrow": {PerMinute: 3, PerDay: 1000},
		"open": {PerMinute: 4, PerDay: 1000}, "day": {PerMinute: 1000, PerDay: 2},
	}
	change(&config)

	s := &served{t: t, store: config.Store, state: config.State}
	s.publish(sources)
	err := keys.Update(config.State, func(file *keys.File) (err error) {
		_, s.key, err = file.Create(keys.NewKey{Tenant: "acme", Surface: keys.Live, Plan: "wide"}, time.Now())
		if err == nil {
			_, s.narrow, err = file.Create(keys.NewKey{Tenant: "few", Surface: keys.Live, Plan: "narrow"}, time.Now())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	ready := make(chan string, 1)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		ended <- node.Serve(ctx, node.Options{
			Config: config, Log: slog.New(slog.DiscardHandler), Ready: func(file *node.ReadyFile) { ready <- file.API },
		})
	}()
	select {
	case s.url = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}

	s.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil // it may be stopped again
	}
	t.Cleanup(func() { s.stop() })
	s.awaits()
	return s
}

// awaits waits until cards are indexed.
func (s *served) awaits() {
	s.t.Helper()
	for until := time.Now().Add(3 * time.Minute); ; {
		status, _, header := s.get("/v2/types", s.key)
		if status == http.StatusOK {
			return
		}
		if status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" || time.Now().After(until) {
			s.t.Fatalf("before the index is ready: %d", status)
		}
	}
}

func (s *served) get(path, key string) (status int, body string, header http.Header) {
	s.t.Helper()
	return s.getFrom("192.0.2.1", path, key)
}

// getFrom calls as a proxy of an address does.
func (s *served) getFrom(address, path, key string) (status int, body string, header http.Header) {
	s.t.Helper()
	return s.do(http.MethodGet, address, path, key, "")
}

func (s *served) do(method, address, path, key, sent string) (status int, body string, header http.Header) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(sent))
	if err != nil {
		s.t.Fatal(err)
	}
	if sent != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("X-Forwarded-For", address)

	// Without a key a call is anonymous.
	if key != "" {
		request.Header.Set("X-Api-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	b, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(b), response.Header
}

// apiCard is a card or a set in the API's responses.
type apiCard struct {
	ID        string
	TCGPlayer *struct {
		Prices map[string]map[string]*float64
	}
}

// page is a list in the API's responses.
type page struct {
	Data                              []apiCard
	Page, PageSize, Count, TotalCount int
}

func (s *served) list(path string, values url.Values) (out page) {
	s.t.Helper()
	status, body, _ := s.get(path+"?"+values.Encode(), s.key)
	if err := json.Unmarshal([]byte(body), &out); status != http.StatusOK || err != nil {
		s.t.Fatalf("%s: %d %v %.300s", path, status, err, body)
	}
	return out
}

// madeSources are made files and a made catalog that has prices.
func madeSources(t *testing.T) []loader.Input {
	t.Helper()
	files := filepath.Join(t.TempDir(), "files")
	native := filepath.Join(t.TempDir(), "native")
	pokemontcg.MadeFiles(t, files)
	if err := synth.Write(native, synth.Options{Cards: 300, HistoryDays: 10}); err != nil {
		t.Fatal(err)
	}
	return []loader.Input{{Kind: "native", Path: native}, {Kind: source.KindPokemonTCG, Path: files}}
}

// TestContract: the response of each route, and its refusals.
func TestContract(t *testing.T) {
	t.Parallel()
	s := serves(t, func(*settings.Config) {}, madeSources(t)...)
	for _, c := range []struct {
		path, key string
		status    int
		want      string
	}{
		{"/v2/cards/base1-2", s.key, 200, `{"data":{"id":"base1-2","name":"`},
		{"/v2/cards/base1-2/", s.key, 200, `{"data":{"id":"base1-2","name":"`},
		{"/v2/cards/base1-2?select=id,set.name", s.key, 200, `{"data":{"id":"base1-2","set":{"name":"`},
		{"/v2/cards/base1-2?select=attacks.name", s.key, 200, `{"data":{"attacks":[{"name":"`},
		{"/v2/cards/nope", s.key, 404, `{"error":{"message":"there is no card with the id`},
		{"/v2/cards/nope", s.key, 404, `"code":404}}`},
		{"/v2/sets/base1", s.key, 200, `{"data":{"id":"base1","name":"`},
		{"/v2/sets/nope", s.key, 404, `"code":404}}`},
		{"/v2/cards?q=charizard", s.key, 400, `q is wrong at character 1: a word needs its field`},
		{"/v2/cards?q=name:*a*b*c*", s.key, 400, `2 stars at most`},
		{"/v2/cards?q=foo:a", s.key, 400, `"code":400}}`},
		{"/v2/cards?page=0", s.key, 400, `page is a whole number from 1 on`},
		{"/v2/cards?pageSize=x", s.key, 400, `pageSize is a whole number from 1 on`},
		{"/v2/cards?orderBy=foo", s.key, 400, `orderBy: there is no field`},
		{"/v2/cards?select=" + strings.Repeat("a,", 16) + "a", s.key, 400, `select names 16 fields at most`},
		{"/v2/cards?pageSize=1000&select=id", s.key, 200, `"page":1,"pageSize":250,"count":250,`},
		{"/v2/cards?page=99", s.key, 200, `{"data":[],"page":99,"pageSize":250,"count":0,"totalCount":`},
		{"/v2/cards?q=set.id:base1%20number:4&select=id", s.key, 200, `{"data":[{"id":"base1-4"}],"page":1,`},
		{"/v2/cards?q=set.id:base1+number:004&select=id", s.key, 200, `{"data":[{"id":"base1-4"}],"page":1,`},
		{"/v2/cards/?q=", s.key, 200, `"page":1,"pageSize":250,"count":250,`},
		{"/v2/types", s.key, 200, `{"data":["Fire","Grass","Water"]}`},
		{"/v2/supertypes/", s.key, 200, `{"data":["Pokémon","Trainer"]}`},
		{"/v2/subtypes", s.key, 200, `{"data":["V-UNION"]}`},
		{"/v2/rarities", s.key, 200, `"Common",`},
		{"/v2/nope", s.key, 404, `{"error":{"message":"there is nothing at this path","code":404}}`},
		{"/v2", "", 404, `"code":404}}`},
		{"/v2/cards/a/b", s.key, 404, `"code":404}}`},
		{"/v2/cards", "no-such-key", 403, `"code":403}}`},
		{"/v2/cards", "", 403, `"code":403}}`},
	} {
		status, body, header := s.get(c.path, c.key)
		if status != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %.200s, want %d %s", c.path, status, body, c.status, c.want)
		}
		if got := header.Get("Content-Type"); !strings.HasPrefix(got, "application/json") {
			t.Errorf("%s: is %s", c.path, got)
		}
	}

	status, body, header := s.do(http.MethodPost, "192.0.2.1", "/v2/cards", s.key, "{}")
	if status != 405 || header.Get("Allow") != "GET, HEAD" || !strings.Contains(body, `"code":405}}`) {
		t.Errorf("POST: %d %s", status, body)
	}
	s.pages()
	s.orders()
	s.refusesMany()
	s.stop()
	counts := s.counts("acme")
	for _, op := range []string{
		"compat_cards_search", "compat_cards_get", "compat_sets_list", "compat_sets_get", "compat_values",
	} {
		if counts[op] == 0 {
			t.Errorf("usage has no row of %s: %v", op, counts)
		}
	}
}

// counts are the calls of a tenant by operation, as its bill has them.
func (s *served) counts(tenant string) map[string]int64 {
	s.t.Helper()
	today := calendar.DayOf(time.Now().UnixMilli())
	rows, err := access.ReadLedger(s.state, tenant, today-1, today+1)
	if err != nil {
		s.t.Fatal(err)
	}
	counts := map[string]int64{}
	for _, row := range rows {
		counts[string(row.Operation)] += row.Charged
	}
	return counts
}

// pages reads all pages of cards: each card comes once, in the usual order.
func (s *served) pages() {
	s.t.Helper()
	whole := s.list("/v2/cards", url.Values{"select": {"id"}, "pageSize": {"250"}})
	seen := map[string]bool{}
	for n := 1; ; n++ {
		got := s.list("/v2/cards", url.Values{"select": {"id"}, "pageSize": {"70"}, "page": {fmt.Sprint(n)}})
		if got.Page != n || got.PageSize != 70 || got.Count != len(got.Data) || got.TotalCount != whole.TotalCount {
			s.t.Errorf("page %d says %d of %d, %d of %d", n, got.Page, got.PageSize, got.Count, got.TotalCount)
		}
		if len(got.Data) == 0 {
			break
		}

		// Pages of another size have the same order.
		for i, card := range got.Data {
			if at := (n-1)*70 + i; at < len(whole.Data) && whole.Data[at].ID != card.ID {
				s.t.Fatalf("card %d is %s, and %s in a larger page", at, card.ID, whole.Data[at].ID)
			}
			seen[card.ID] = true
		}
	}
	if len(seen) != whole.TotalCount || len(seen) < 400 {
		s.t.Errorf("pages have %d cards, the list says %d", len(seen), whole.TotalCount)
	}
}

// orders looks at the order of sets and of cards, by prices too.
func (s *served) orders() {
	s.t.Helper()
	sets := s.list("/v2/sets", url.Values{"orderBy": {"-releaseDate"}, "q": {"series:scarlet"}})
	if len(sets.Data) != 5 || sets.Data[0].ID != "swsh35" || sets.Data[4].ID != "base1" {
		s.t.Errorf("sets by release: %+v", sets.Data)
	}

	const field = "tcgplayer.prices.normal.market"
	for _, by := range []string{field, "-" + field} {
		cards := s.list("/v2/cards", url.Values{"orderBy": {by}, "q": {field + ":[0.01 TO *]"}})
		var prices []float64
		for _, card := range cards.Data {
			prices = append(prices, *card.TCGPlayer.Prices["normal"]["market"])
		}
		if by != field {
			slices.Reverse(prices)
		}
		if len(prices) < 20 || !slices.IsSorted(prices) {
			s.t.Errorf("%d cards by %s are not in order", len(prices), by)
		}
	}
}

// refusesMany calls more often than a plan has it.
func (s *served) refusesMany() {
	s.t.Helper()
	for n := 1; ; n++ {
		status, body, header := s.get("/v2/types", s.narrow)
		if status == http.StatusOK && n < 10 {
			continue
		}
		if status != 429 || n < 4 || header.Get("Retry-After") == "" || !strings.Contains(body, `"code":429}}`) {
			s.t.Errorf("call %d: %d %s", n, status, body)
		}
		return
	}
}

// TestAnonymous: callers without a key have the plan of the settings: a minute limit by address,
// and one day limit together.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	sources := madeSources(t)[1:]
	for plan, limit := range map[string]int{"open": 2, "day": 2} {
		s := serves(t, func(config *settings.Config) { config.Compat.Anonymous = plan }, sources...)
		for n := range limit {
			if status, body, _ := s.get("/v2/cards/base1-2", ""); status != http.StatusOK {
				t.Errorf("plan %s: call %d without a key: %d %s", plan, n, status, body)
			}
		}
		status, body, header := s.get("/v2/cards/base1-2", "")
		if status != 429 || header.Get("Retry-After") == "" || !strings.Contains(body, `"code":429}}`) {
			t.Errorf("plan %s: one call more: %d %s", plan, status, body)
		}

		// Another address has its own minute limit, but no day limit; a network of IPv6 is one address.
		other := map[string]int{"open": 200, "day": 429}[plan]
		if status, _, _ := s.getFrom("2001:db8::1", "/v2/cards/base1-2", ""); status != other {
			t.Errorf("plan %s: another address: %d, want %d", plan, status, other)
		}
		for n, want := range []int{other, 429} {
			if status, _, _ := s.getFrom("2001:db8::2", "/v2/cards/base1-2", ""); status != want {
				t.Errorf("plan %s: call %d of its network: %d, want %d", plan, n+2, status, want)
			}
		}

		// An invalid key is no anonymous call, and /v1 requires a key.
		if status, _, _ := s.get("/v2/cards/base1-2", "no-such-key"); status != 403 {
			t.Errorf("plan %s: a wrong key: %d", plan, status)
		}
		if status, _, _ := s.get("/v1/games", ""); status != 401 {
			t.Errorf("plan %s: /v1 without a key: %d", plan, status)
		}
		if status, _, _ := s.get("/v2/cards/base1-2", s.key); status != 200 {
			t.Errorf("plan %s: a key beside: %d", plan, status)
		}
		s.stop()
		all := map[string]int64{"open": 4, "day": 2}[plan]
		if counts := s.counts("anonymous"); counts["compat_cards_get"] != all {
			t.Errorf("plan %s: usage of callers without a key: %v", plan, counts)
		}
	}
}

// TestSwap: a released snapshot is served without a restart.
func TestSwap(t *testing.T) {
	t.Parallel()
	sources := madeSources(t)
	s := serves(t, func(*settings.Config) {}, sources...)
	sources[0].Path = filepath.Join(t.TempDir(), "next")
	if err := synth.Write(sources[0].Path, synth.Options{Cards: 300, HistoryDays: 11}); err != nil {
		t.Fatal(err)
	}
	next := s.publish(sources)

	// It is asked for until it is there, as a client does.
	for until := time.Now().Add(time.Minute); ; {
		_, _, header := s.get("/v2/cards/base1-2", s.key)
		if header.Get("X-Snapshot-Id") == next {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("answers are of %s, published is %s", header.Get("X-Snapshot-Id"), next)
		}
	}
}

// TestOff: without the setting there is no path, though the snapshot has the cards.
func TestOff(t *testing.T) {
	t.Parallel()
	files := t.TempDir()
	pokemontcg.MadeFiles(t, files)
	dir := t.TempDir()
	build := operate.Build{Store: dir, Options: loader.Options{
		Sources: []loader.Input{{Kind: source.KindPokemonTCG, Path: files}},
	}}
	made, err := build.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	// Load omits the data that LoadCompanion reads.
	store := snapshot.OpenStore(dir)
	loaded, err := store.Load(t.Context(), made.ID, func() {})
	if err != nil || loaded.Companion.Cards.JSON.Len() != 0 {
		t.Errorf("what serves without the API holds its cards: %v", err)
	}
	companion, err := snapshot.LoadCompanion(t.Context(), store, made.ID, len(loaded.Lanes.Cents), nil)
	if err != nil || companion.Cards.JSON.Len() != 300 {
		t.Errorf("the cards of the API are not in the snapshot: %v", err)
	}
}
