// Package settings is the configuration of a server and of the day's work: its keys, their values
// and the origin of each.
package settings

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/feed"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/notify"
	"ninepocket/loader"
	"ninepocket/snapshot/guard"
)

// Config is the configuration of serve: defaults < TOML file < environment < flags. Its keys, and
// their help, are the tags of its fields.
type Config struct {
	Store string `toml:"store" flag:"snapshot store: <DIR>, or s3://BUCKET/PREFIX for a fleet"`
	// Releases of a bucket are stored in a folder, and accepted if one of the keys signed them.
	StoreCache string   `toml:"store_cache" flag:"<DIR> for snapshots from a store s3://…"`
	Publishers []string `toml:"publishers" help:"keys ID:KEY that may sign releases of a store s3://…"`

	State string `toml:"state" flag:"<DIR> with keys and metering; one server at a time"`
	// Many servers share these two; without them one machine needs only its state directory.
	Metering string `toml:"metering" flag:"Redis or Valkey <URL> with the limits of a fleet; wants --control"` // air: a tag is one text
	Control  string `toml:"control" flag:"PostgreSQL <URL> with the keys and bills of a fleet"`

	Listen string `toml:"listen" flag:"<ADDRESS> of the API"`
	Admin  string `toml:"admin" flag:"<ADDRESS> of the admin listener"`
	// The certificate and its key are given both, or neither.
	TLSCert   string `toml:"tls_cert" flag:"PEM <FILE> with the certificate chain of the API; read again when it changes"` // air: a tag is one text
	TLSKey    string `toml:"tls_key" flag:"PEM <FILE> with the private key of the certificate"`
	ReadyFile string `toml:"ready_file" flag:"write this <PATH> once requests are served"`
	BaseURL   string `toml:"base_url" flag:"public <URL> of the API (default: the listen address)"`
	SiteURL   string `toml:"site_url" flag:"public <URL> of card and set pages (default: the base URL)"`
	Images    string `toml:"images" flag:"<DIR> with card images, by the names that the catalog gives"`
	// The thumbnails of these images.
	ImageCache string `toml:"image_cache" flag:"<DIR> for thumbnails of card images (default: STATE/small-images)"` // air: a tag is one text

	BulkDir string `toml:"bulk_dir" flag:"<DIR> with the files of the whole catalog (default: STATE/bulk)"`

	NoSite    bool   `toml:"no_site" flag:"serve no public pages" public:"yes"`
	LogFormat string `toml:"log_format" flag:"text or json" public:"text json"`
	AccessLog string `toml:"access_log" flag:"write a JSON line a request to this <PATH>, - for stdout; reopened on SIGHUP"`     // air: a tag is one text
	DrainLead string `toml:"drain_lead" flag:"<DURATION> from SIGTERM until the listener closes, 10s at most" public:"duration"` // air: a tag is one text

	AccessLogSample int `toml:"access_log_sample" flag:"a line for one request in <N>; errors of the server always have one" public:"yes"` // air: a tag is one text

	MaxConnections           int `toml:"max_connections" flag:"open connections of the API, <N> at most (default: what the descriptors allow)" public:"yes"`                     // air: a tag is one text
	MaxConnectionsPerAddress int `toml:"max_connections_per_address" flag:"<N> connections at most from one address that is no trusted proxy (default: a quarter)" public:"yes"` // air: a tag is one text

	Surfaces              []string `toml:"surfaces" help:"enabled surfaces: live, preview" public:"live preview"`
	DefaultSurface        string   `toml:"default_surface" help:"surface of a shared path for calls without a key" public:"live preview"` // air: a tag is one text
	ProductPrefix         string   `toml:"product_prefix" help:"prefix of product ids: 1 to 16 lower-case letters, digits"`               // air: a tag is one text
	CORSOrigins           []string `toml:"cors_origins" help:"CORS: origins whose pages may read responses"`
	MaxIdempotencyRecords int      `toml:"replies_max" help:"idempotent responses stored for a tenant at most; a plan may admit fewer in ten minutes" public:"yes"` // air: a tag is one text
	AdminHosts            []string `toml:"admin_hosts" help:"host names with a dot that may address the admin listener, besides localhost"`                         // air: a tag is one text
	TrustedProxies        []string `toml:"trusted_proxies" help:"addresses or networks of proxies whose X-Forwarded-For has a visitor's address"`                   // air: a tag is one text

	Serve  Serve
	Compat Compat
	Feed   Feed
	Daily  Daily
	Backup Backup
	// Notify has the receivers of events.
	Notify  notify.Options
	Metrics Metrics

	Fleet  Fleet
	MCP    MCP
	Guards map[string]*float64 // the limits of the guards, by name
	Plans  map[string]*Plan
}

// Serve is the [serve] table.
type Serve struct {
	NextPublication string `toml:"next_publication" help:"time of day in UTC at which the next snapshot is served, such as 20:30Z; clients see it in usage"` // air: a tag is one text
}

// Compat is the [compat] table.
type Compat struct {
	PokemonTCG bool   `toml:"pokemontcg" help:"also answer programs of the Pokémon TCG API, version 2, below /v2" public:"yes"` // air: a tag is one text
	Anonymous  string `toml:"anonymous" help:"plan of callers without a key; none refuses them"`
}

// checkCompat returns every problem of the table, joined.
func (c *Config) checkCompat() error {
	var wrong Problems
	anonymous := c.Compat.Anonymous
	if anonymous == "" {
		return nil
	}
	plans, _ := c.PlanTable() // its errors are reported already
	_, known := plans[anonymous]
	wrong.AddIf(!known, "cannot use compat.anonymous %q: there is no such plan", anonymous)
	wrong.AddIf(!c.Compat.PokemonTCG, "cannot use compat.anonymous: compat.pokemontcg is off")
	wrong.AddIf(c.Control != "", "cannot use compat.anonymous: many servers bill only callers with a key")
	wrong.AddIf(c.isBehindProxy(), "cannot use compat.anonymous: base_url means a proxy in front, but "+
		"trusted_proxies names none, so that all callers would share one address")
	return wrong.Err()
}

// publicationTime is how [serve] next_publication is written.
const publicationTime = "15:04Z"

// PublishesAt is how long after midnight, UTC, the next snapshot is served; false when nobody said it.
func (s *Serve) PublishesAt() (after time.Duration, known bool) {
	at, err := time.Parse(publicationTime, s.NextPublication)
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute, err == nil
}

// Feed is the [feed] table: what daily pulls, and feed pull with --config.
type Feed struct {
	Into          string   `toml:"into" help:"feed directory that daily downloads TCGCSV into; none for no pull"`
	URL           string   `toml:"url" help:"base URL of the feed"`
	Games         []string `toml:"games" help:"only these games; none for all"`
	Interval      string   `toml:"interval" help:"time between two requests" public:"duration"`
	UserAgent     string   `toml:"user_agent" help:"User-Agent: your name and address for the feed"`
	ArchiveDays   int      `toml:"keep_days" help:"archived days to keep; 0 keeps all" public:"yes"`
	Images        string   `toml:"images" help:"folder for missing pictures that are downloaded; none for no pictures"`
	ImageInterval string   `toml:"image_interval" help:"time between two requests for pictures" public:"duration"`
}

// Daily is the [daily] table.
type Daily struct {
	Sources          []string `toml:"sources" help:"catalogs KIND:PATH in order of authority; feed stands for the feed directory"` // air: a tag is one text
	Prices           []string `toml:"prices" help:"prices alone, KIND:PATH"`
	Mapping          string   `toml:"mapping" help:"folder with sealed.csv, aliases.csv, removed.csv, feeds.toml and search_aliases.csv"`     // air: a tag is one text
	Names            string   `toml:"names" help:"file of names in other languages: number of a card, and a column for each language's code"` // air: a tag is one text
	Languages        []string `toml:"languages" help:"languages whose names are read, such as de; none for all"`
	IncludeUnmatched bool     `toml:"keep_unmatched" help:"keep cards of later sources that no earlier one has" public:"yes"` // air: a tag is one text
	RetainSnapshots  int      `toml:"keep" help:"newest snapshots to keep; 0 keeps all" public:"yes"`
}

// Backup is the [backup] table.
type Backup struct {
	Into        string `toml:"into" help:"folder that backup writes into; it belongs on another disk"`
	RetainCount int    `toml:"keep" help:"newest backups to keep; 0 keeps all" public:"yes"`
}

// MCP is the [mcp] table.
type MCP struct {
	AllowedHosts   []string `toml:"allowed_hosts" help:"hosts that requests may name, besides the base URL's, the listen host and loopback"` // air: a tag is one text
	AllowedOrigins []string `toml:"allowed_origins" help:"origins whose pages may call MCP"`
}

// Plan is a [plans.NAME] table; an omitted key keeps its default (decision 14).
type Plan struct {
	PerMinute   int    `toml:"per_minute" help:"calls in any 60 seconds, 1 to 10000000" public:"yes"`
	PerDay      int64  `toml:"per_day" help:"successful calls a UTC day" public:"yes"`
	MaxCards    int    `toml:"max_cards" help:"ids in a card batch, 1 to 200" public:"yes"`
	MaxPrices   int    `toml:"max_prices" help:"ids in a price batch, 1 to 100" public:"yes"`
	HistoryDays int    `toml:"history_days" help:"days of price history, 1 to 365" public:"yes"`
	StatsWindow string `toml:"stats_window" help:"longest statistics window: none, 7d, 30d or 90d" public:"none 7d 30d 90d"` // air: a tag is one text
	Bulk        *bool  `toml:"bulk" help:"whether the whole catalog may be downloaded" public:"yes"`                         // nil for the default // air: a tag is one text

	Price        string `toml:"price" help:"price of a month, such as 49.00, for usage --priced"`
	Included     int64  `toml:"included" help:"charged requests of a month that the price includes"`
	OveragePrice string `toml:"overage_price" help:"price of 1,000 further requests, such as 1.50"`
	Currency     string `toml:"currency" help:"currency of both prices, such as USD"`
}

// Metrics is the [metrics] table.
type Metrics struct {
	Tenants bool `toml:"tenants" help:"also count calls by tenant, with a label" public:"yes"`
}

// DefaultRetention is how many of the newest snapshots a release retains in the store, unless
// configured: a month of daily ones.
const DefaultRetention = 30

// PulledFeed stands in the sources of daily for the feed directory.
const PulledFeed = "feed"

// Default is the configuration without a file, a variable or a flag.
func Default() Config {
	return Config{
		Listen: "127.0.0.1:8080", Admin: "127.0.0.1:8081", LogFormat: "text", DrainLead: "0.5s",
		Surfaces: []string{"live", "preview"}, DefaultSurface: "live", ProductPrefix: "prd", Guards: defaultGuards(),
		MaxIdempotencyRecords: access.DefaultMaxIdempotencyRecords, AccessLogSample: 1,
		Feed: Feed{
			URL: feed.DefaultURL, Interval: feed.DefaultInterval.String(), ArchiveDays: feed.DefaultArchiveDays,
			ImageInterval: feed.DefaultImageInterval.String(),
		},
		Daily: Daily{Sources: []string{PulledFeed}, RetainSnapshots: DefaultRetention},
		Fleet: Fleet{
			Acks: "replica", Replicas: 1, Timeout: "100ms", Lease: "500ms", Export: "5s", Prefix: "np",
			KeysMaxAge: "24h",
		},
	}
}

// Validate returns every problem of a configuration, joined.
func (c *Config) Validate() error {
	var wrong Problems
	for _, s := range c.Surfaces {
		wrong.AddIf(s != "live" && s != "preview", "cannot use surfaces: %q is not live or preview", s)
	}

	wrong.AddIf(!slices.Contains(c.Surfaces, "live"), "cannot use surfaces: live cannot be switched off")
	wrong.AddIf(!slices.Contains(c.Surfaces, c.DefaultSurface),
		"cannot use default_surface %q: it is not one of surfaces", c.DefaultSurface)
	_, timed := c.Serve.PublishesAt()
	wrong.AddIf(c.Serve.NextPublication != "" && !timed,
		"cannot use serve.next_publication %q: want a time of day in UTC such as 20:30Z", c.Serve.NextPublication)
	wrong.AddIf(!validProductPrefix(c.ProductPrefix),
		"cannot use product_prefix %q: want 1 to 16 lower-case letters and digits", c.ProductPrefix)

	wrong.AddIf(c.MaxIdempotencyRecords < 1, "cannot use replies_max %d: want 1 or more", c.MaxIdempotencyRecords)

	wrong.Add(invalidValue("base_url", c.BaseURL, urlProblem(c.BaseURL)))
	wrong.Add(invalidValue("site_url", c.SiteURL, urlProblem(c.SiteURL)))
	wrong.Add(invalidValue("listen", c.Listen, addressProblem(c.Listen)))
	wrong.Add(invalidValue("admin", c.Admin, addressProblem(c.Admin)))

	wrong.AddIf(c.LogFormat != "text" && c.LogFormat != "json",
		"cannot use log_format %q: want text or json", c.LogFormat)
	_, err := c.Lead()
	wrong.AddIf(err != nil, "cannot use drain_lead %q: %w", c.DrainLead, err)
	wrong.AddIf(c.MaxConnections < 0, "cannot use max_connections %d: want 0, for the default, or more",
		c.MaxConnections)
	wrong.AddIf(c.MaxConnectionsPerAddress < 0,
		"cannot use max_connections_per_address %d: want 0, for the default, or more", c.MaxConnectionsPerAddress)
	wrong.AddIf(c.AccessLogSample < 1, "cannot use access_log_sample %d: want 1, for every request, or more",
		c.AccessLogSample)
	wrong.AddIf(c.Backup.RetainCount < 0, "cannot use backup.keep %d: want 0 or more", c.Backup.RetainCount)
	// With one of them alone, TLS would be off.
	wrong.AddIf((c.TLSCert == "") != (c.TLSKey == ""), "cannot use TLS: give tls_cert and tls_key, both or neither")
	_, proxies := c.Proxies()
	_, plans := c.PlanTable()
	// All problems at once, so that an operator needs one restart.
	return errors.Join(wrong.Err(), proxies, plans, c.GuardLimits().Validate(), c.CheckDaily(), c.checkFleet(),
		c.checkMirror(), c.checkCompat(), c.Notify.Validate())
}

// MaxLead limits drain_lead: the whole drain must end before the timeout of service managers.
const MaxLead = 10 * time.Second

// Lead is how long requests are still accepted after SIGTERM, on open and new connections, each
// answered with Connection: close.
func (c *Config) Lead() (time.Duration, error) {
	lead, err := time.ParseDuration(c.DrainLead)
	if err != nil || lead < 0 || lead > MaxLead {
		return 0, errors.New("want a time from 0s to 10s, such as 0.5s")
	}
	return lead, nil
}

// defaultGuards returns the default limits of all guards.
func defaultGuards() map[string]*float64 {
	limits := map[string]*float64{}
	for _, g := range guard.Describe() {
		limits[g.Name] = &g.Limit
	}
	return limits
}

// GuardLimits returns the configured limit of every guard, by the guard's name.
func (c *Config) GuardLimits() guard.Limits {
	limits := guard.Limits{}
	for name, limit := range c.Guards {
		limits[name] = *limit
	}
	return limits
}

// MissingSettings returns an error for settings that serve needs and that are not given, joined.
func (c *Config) MissingSettings() error {
	if c.Store == "" || c.State == "" {
		return errors.New("cannot serve: the store or the state directory is not given")
	}
	if c.UsesBucket() {
		var wrong Problems
		wrong.AddIf(c.StoreCache == "", "cannot serve from a store %s…: store_cache is not given", mirror.Scheme)
		wrong.AddIf(len(c.Publishers) == 0,
			"cannot serve from a store %s…: publishers names no key that may sign what is published", mirror.Scheme)
		return errors.Join(wrong.Err(), CheckFolder("state", c.State))
	}
	return errors.Join(CheckFolder("store", c.Store), CheckFolder("state", c.State))
}

// addressProblem returns the reason why an address is not HOST:PORT, "" if it is valid. Without
// HOST it is every address of the machine, without PORT a free port. Only binding shows whether it
// is available.
func addressProblem(s string) string {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return "want HOST:PORT, such as 127.0.0.1:8080 or :8080"
	}
	return ""
}

// urlProblem returns the reason why a text is not an absolute http or https URL, "" if it is one or
// empty. It is used in responses unchanged.
func urlProblem(s string) string {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return ""
	case err != nil:
		return "it is not a URL"
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" ||
		u.User != nil:
		return "want https://host, with a path at most"
	case u.String() != s || strings.ContainsAny(s, "\"\\<>"):
		return "it holds characters that must be percent-encoded"
	}
	return ""
}

// Proxies returns the networks of proxies whose X-Forwarded-For is trusted. The error joins every
// problem.
func (c *Config) Proxies() (all []netip.Prefix, err error) {
	var wrong Problems
	for _, text := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(text)
		// An address alone is the network with only this address.
		if addr, alone := netip.ParseAddr(text); alone == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		wrong.AddIf(err != nil, "cannot use trusted_proxies: %q is neither an address nor a network", text)
		all = append(all, prefix.Masked())
	}
	return all, wrong.Err()
}

// HidesClientIPs reports whether clients come through a proxy that is not trusted for their
// addresses. It is true if pages are served, and the listener itself cannot answer the base URL.
func (c *Config) HidesClientIPs() bool { return !c.NoSite && c.isBehindProxy() }

// isBehindProxy reports whether there is a proxy that is not trusted.
func (c *Config) isBehindProxy() bool {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || len(c.TrustedProxies) > 0 {
		return false
	}

	// TLS that ends elsewhere, or a public name for a private listener: there is a proxy.
	host, _, err := net.SplitHostPort(c.Listen)
	return base.Scheme == "https" && c.TLSCert == "" || err == nil && notify.IsLocalHost(host) &&
		!notify.IsLocalHost(base.Hostname())
}

func validProductPrefix(s string) bool {
	return s != "" && len(s) <= 16 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789") == ""
}

// readPrice returns the price of a plan, nil if none is configured. The error joins every problem.
func (plan *Plan) readPrice(name string) (*keys.Price, error) {
	if plan.Price == "" && plan.OveragePrice == "" && plan.Included == 0 && plan.Currency == "" {
		return nil, nil
	}

	var wrong Problems
	noCurrency := len(plan.Currency) != 3 || strings.Trim(plan.Currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != ""
	read := func(key, text string) int64 {
		if text == "" || noCurrency {
			return 0
		}
		minor, err := keys.ParseAmount(text, plan.Currency)
		wrong.AddIf(err != nil, "cannot use plan %q: %s is %q, %w", name, key, text, err)
		return minor
	}
	wrong.AddIf(plan.Price == "" && plan.OveragePrice == "",
		"cannot use plan %q: it has neither price nor overage_price", name)
	wrong.AddIf(noCurrency, "cannot use plan %q: currency is %q, want three capital letters such as USD", name,
		plan.Currency)
	wrong.AddIf(plan.Included < 0 || plan.Included > 1<<53, "cannot use plan %q: included is %d, want 0 to %d", name,
		plan.Included, int64(1)<<53)

	price := keys.Price{
		Month: read("price", plan.Price), Included: plan.Included,
		Overage: read("overage_price", plan.OveragePrice), Currency: plan.Currency,
	}
	return &price, wrong.Err()
}

// PlanTable returns the default plans with the configured changes. The error joins every problem.
func (c *Config) PlanTable() (keys.Plans, error) { return c.ChangePlans(keys.DefaultPlans()) }

// ChangePlans makes the configured changes to plans, and returns them. The error joins every problem.
func (c *Config) ChangePlans(plans keys.Plans) (keys.Plans, error) {
	var wrong Problems
	for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
		plan := c.Plans[name]
		window, ok := map[string]int{"": 0, "none": keys.NoStats, "7d": 7, "30d": 30, "90d": 90}[plan.StatsWindow]
		wrong.AddIf(!ok, "cannot use plan %q: stats_window is %q, want none, 7d, 30d or 90d", name, plan.StatsWindow)
		price, err := plan.readPrice(name)
		wrong.Add(err)

		// An omitted key is zero, and keeps its default.
		plans.Set(name, keys.Plan{
			PerMinute: plan.PerMinute, PerDay: plan.PerDay, MaxCards: plan.MaxCards, MaxPrices: plan.MaxPrices,
			HistoryDays: plan.HistoryDays, StatsWindow: window, Bulk: plan.Bulk, Price: price,
		})
	}
	return plans, errors.Join(wrong.Err(), plans.Validate())
}

// CheckDaily returns every problem of [feed] and [daily], joined.
func (c *Config) CheckDaily() error {
	var wrong Problems
	if c.Feed.Into != "" {
		pulling, err := c.Pulling()
		if err == nil {
			err = pulling.Validate()
		}
		wrong.AddIf(err != nil, "cannot use [feed]: %w", err)
	}

	for _, given := range slices.Concat(c.Daily.Sources, c.Daily.Prices) {
		if given == PulledFeed {
			continue
		}
		_, err := loader.ParseInput(given)
		wrong.AddIf(err != nil, "cannot use [daily]: %w", err)
	}
	wrong.AddIf(c.Daily.RetainSnapshots < 0, "cannot use daily.keep %d: want 0 or more", c.Daily.RetainSnapshots)
	return wrong.Err()
}

// Pulling returns the configured options of a pull. The error joins every problem.
func (c *Config) Pulling() (pulling feed.Options, err error) {
	var wrong Problems
	duration := func(key, text string) time.Duration {
		d, err := time.ParseDuration(text)
		wrong.AddIf(err != nil, "%s %q is no time such as 100ms", key, text)
		return d
	}
	pulling = feed.Options{
		Into: c.Feed.Into, URL: c.Feed.URL, Games: c.Feed.Games, UserAgent: c.Feed.UserAgent,
		ArchiveDays: c.Feed.ArchiveDays,
		Images:      c.Feed.Images, Interval: duration("interval", c.Feed.Interval),
		ImageInterval: duration("image_interval", c.Feed.ImageInterval),
	}
	return pulling, wrong.Err()
}
