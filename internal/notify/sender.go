package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

// Source has the events of a store.
type Source interface {
	EventIDs(ctx context.Context) ([]string, error)
	Event(ctx context.Context, id string) ([]byte, error)
}

// Ledger has what was sent. Of several senders it lets one load it.
type Ledger interface {
	Load(ctx context.Context) ([]byte, error) // nil before the first Save
	Save(ctx context.Context, record []byte) error
	Close() // lets another sender go on
}

// FileLedger is the ledger of a state directory, whose lock excludes other senders.
type FileLedger string

func (dir FileLedger) path() string { return filepath.Join(string(dir), statedir.HooksName) }

// Load implements Ledger.
func (dir FileLedger) Load(context.Context) ([]byte, error) {
	record, err := disk.ReadFile(disk.OS, dir.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return record, err
}

// Save implements Ledger.
func (dir FileLedger) Save(_ context.Context, record []byte) error {
	return statedir.ReplaceFile(dir.path(), record)
}

// Close implements Ledger.
func (FileLedger) Close() {}

// delivery is what is known of one event for one target.
type delivery struct {
	Tries  int       `json:"tries"`
	NextAt time.Time `json:"next_at,omitzero"`
	Done   bool      `json:"done"`           // sent, not wanted, or lost
	Body   string    `json:"body,omitempty"` // of an event that no store has
}

// deliveries are by target and id, with a space between.
type deliveries map[string]*delivery

// idOf returns the id in the name of a delivery.
func idOf(name string) string { return name[strings.IndexByte(name, ' ')+1:] }

// Stats are the metrics of a sender.
type Stats struct {
	Sent, Failed, Lost uint64    // tries that succeeded and failed, and events that nobody took in time
	Oldest             time.Time // event that waits; zero without one
}

// Sender sends the events of a store. Its fields are set before it is used.
type Sender struct {
	Options
	Schedule
	Store  *snapshot.Store // whose days may be missing
	Source Source
	Ledger Ledger
	Client *http.Client
	Now    func() time.Time
	Log    *slog.Logger
	// Interval is the time between two passes of Run.
	Interval time.Duration

	counts Stats // of the goroutine that sends
	stats  atomic.Pointer[Stats]
}

// Stats returns the metrics as of the last pass.
func (s *Sender) Stats() Stats { return *cmp.Or(s.stats.Load(), &Stats{}) }

// Run sends events until ctx is done, and closes the ledger.
func (s *Sender) Run(ctx context.Context) {
	defer s.Ledger.Close()
	logged := ""
	for ctx.Err() == nil {
		text := ""
		if err := s.Pass(ctx); err != nil && ctx.Err() == nil {
			text = err.Error()
		}

		// A lasting state is logged once.
		if text != logged && text != "" {
			s.Log.Info("no hooks are sent from here", slog.String("cause", text))
		}
		logged = text
		select {
		case <-ctx.Done():
		case <-time.After(s.Interval):
		}
	}
}

// Pass tries every event that is due once.
func (s *Sender) Pass(ctx context.Context) error {
	s.counts.Oldest = time.Time{}
	defer func() {
		counts := s.counts
		s.stats.Store(&counts)
	}()
	all, err := s.load(ctx)
	if err != nil {
		return err
	}

	changed := false
	for _, name := range slices.SortedFunc(maps.Keys(all), byTime) {
		one := all[name]
		if !one.Done && !s.Now().Before(one.NextAt) && ctx.Err() == nil {
			s.try(ctx, all, name)
			changed = true
		}
		if at := happenedAt(idOf(name)); !one.Done && (s.counts.Oldest.IsZero() || at.Before(s.counts.Oldest)) {
			s.counts.Oldest = at
		}
	}
	// A pass that is broken off before this sends the same ids again.
	if !changed {
		return nil
	}
	record, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return s.Ledger.Save(context.WithoutCancel(ctx), record)
}

// byTime orders deliveries by the time of their events.
func byTime(a, b string) int { return strings.Compare(idOf(a), idOf(b)) }

// load returns what is known of all events, new ones included, without those that are long past.
func (s *Sender) load(ctx context.Context) (deliveries, error) {
	record, err := s.Ledger.Load(ctx)
	if err != nil {
		return nil, err
	}
	all := deliveries{}
	if len(record) > 0 {
		err = json.Unmarshal(record, &all)
	}
	ids, failed := s.Source.EventIDs(ctx)
	if err := errors.Join(err, failed); err != nil {
		return nil, err
	}

	// Commands store the events that they cause. A missing day has no command, and is found here.
	late := event{}
	missing := false
	cur, _ := s.Store.Current() // without one no day is missing
	if served, err := s.Store.Manifest(cur.ID); err == nil {
		late, missing = s.missing(served, s.Now())
	}
	// New events wait from now on, for each target.
	for _, target := range s.targets() {
		for _, id := range ids {
			if name := target + " " + id; all[name] == nil {
				all[name] = &delivery{}
			}
		}
		if name := target + " " + late.id; missing && all[name] == nil {
			all[name] = &delivery{Body: string(late.body)}
		}
	}
	maps.DeleteFunc(all, func(name string, _ *delivery) bool {
		return s.Now().Sub(happenedAt(idOf(name))) > recordFor
	})
	return all, nil
}

// try tries a delivery once.
func (s *Sender) try(ctx context.Context, all deliveries, name string) {
	one := all[name]
	target, id, _ := strings.Cut(name, " ")
	made := event{id, []byte(one.Body)}
	var err error
	if one.Body == "" {
		made.body, err = s.Source.Event(ctx, id)
	}
	if err == nil && !s.wants(&made) {
		one.Done = true
		return
	}
	if err == nil {
		err = s.send(ctx, target, &made)
	}
	if err != nil && ctx.Err() != nil {
		return // the end of the sender broke it off
	}

	one.Tries++
	log := s.Log.With(slog.String("event", id), slog.String("to", target), slog.Int("tries", one.Tries))
	switch {
	case err == nil:
		one.Done = true
		s.counts.Sent++
		log.Info("event sent")
		// It answers again: what waits for it is tried without delay.
		for name, other := range all {
			if strings.HasPrefix(name, target+" ") {
				other.NextAt = time.Time{}
			}
		}
	case s.Now().Sub(happenedAt(id)) > retryFor:
		one.Done = true
		s.counts.Lost++
		log.Error("hook lost: no receiver took the event for three days", slog.Any("cause", err))
	default:
		one.NextAt = s.Now().Add(backoff(one.Tries))
		s.counts.Failed++
		log.Warn("hook waits: the receiver did not take an event, retrying", slog.Time("at", one.NextAt),
			slog.Any("cause", err))
	}
}

// backoff returns the time until the next try: from 5 s on four times longer each, an hour at most.
func backoff(tries int) time.Duration {
	pause := 5 * time.Second
	for range tries - 1 {
		pause = min(4*pause, time.Hour)
	}
	return pause
}

// Options are the receivers and their events. They are the [notify] table of the configuration.
type Options struct {
	URL     string   `toml:"url" help:"https URL for events (releases, refusals, missing days); none for no webhook"` // air: a tag is one text
	Secret  string   `toml:"secret" help:"whsec_ and 24 to 64 bytes in base64, which sign what is sent"`
	Events  []string `toml:"events" help:"types that are sent, such as snapshot.refused; none for all"`
	Command []string `toml:"command" help:"program and arguments that are run with each event on standard input"`
}

// Enabled reports whether anybody is sent anything.
func (o *Options) Enabled() bool { return len(o.targets()) > 0 }

// key returns the bytes of the secret.
func (o *Options) key() ([]byte, error) {
	text, ours := strings.CutPrefix(o.Secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !ours || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("cannot use notify.secret: want whsec_ and 24 to 64 bytes in base64")
	}
	return key, nil
}

// Validate returns every problem of the options, joined, with neither the secret nor the path of the URL.
func (o *Options) Validate() error {
	var all []error
	for _, kind := range o.Events {
		if !slices.Contains(Types, kind) {
			all = append(all, fmt.Errorf("cannot use notify.events: %q is none of %s", kind, strings.Join(Types, ", ")))
		}
	}
	if o.URL == "" {
		return errors.Join(all...)
	}

	_, err := o.key()
	all = append(all, err)
	u, err := url.Parse(o.URL)
	// Events that cross a network must not be readable there.
	safe := err == nil && u.Hostname() != "" && u.User == nil &&
		(u.Scheme == "https" || u.Scheme == "http" && IsLocalHost(u.Hostname()))
	if !safe {
		const want = "cannot use notify.url: want https://HOST/PATH without a user, or http to this machine alone"
		all = append(all, errors.New(want))
	}
	return errors.Join(all...)
}

// IsLocalHost reports whether a host is a loopback address or "localhost", which only this machine can reach.
func IsLocalHost(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

// NewClient returns a client that follows no redirect and leaves no connection open.
func NewClient() *http.Client {
	return &http.Client{
		Timeout: 15 * time.Second, // to the end of the answer
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 16 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post sends an event to the URL. Its errors do not have the URL.
func (o *Options) post(ctx context.Context, client *http.Client, now time.Time, one *event) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.URL, bytes.NewReader(one.body))
	key, bad := o.key()
	if err != nil || bad != nil {
		return errors.New("notify.url or notify.secret cannot be used")
	}

	timestamp := strconv.FormatInt(now.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", one.id, timestamp, one.body) // never fails
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ninepocket")
	req.Header.Set("webhook-id", one.id)
	req.Header.Set("webhook-timestamp", timestamp)
	req.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))

	resp, err := client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return err
	}
	// The status decides: what follows 4 KiB is never read.
	_, _ = io.CopyN(io.Discard, resp.Body, 4<<10)
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", resp.StatusCode)
	}
	return nil
}

// run runs the command with an event on its standard input, and with no setting in its environment.
func (o *Options) run(ctx context.Context, one *event) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.Command[0], o.Command[1:]...) //nolint:gosec // the operator's own
	cmd.Stdin = bytes.NewReader(one.body)
	cmd.WaitDelay = time.Second // for children that hold its output open
	cmd.Env = []string{"WEBHOOK_ID=" + one.id}
	for _, name := range []string{"PATH", "HOME", "LANG", "TZ"} {
		cmd.Env = append(cmd.Env, name+"="+os.Getenv(name))
	}
	return cmd.Run()
}

// targets names who is sent events.
func (o *Options) targets() (all []string) {
	if o.URL != "" {
		all = append(all, "url")
	}
	if len(o.Command) > 0 {
		all = append(all, "command")
	}
	return all
}

// wants reports whether an event is of a type that is sent.
func (o *Options) wants(one *event) bool {
	var read content
	_ = json.Unmarshal(one.body, &read) // what cannot be read has no type
	return len(o.Events) == 0 || slices.Contains(o.Events, read.Type)
}

// send sends an event to a target.
func (s *Sender) send(ctx context.Context, target string, one *event) error {
	if target == "url" {
		return s.post(ctx, s.Client, s.Now(), one)
	}
	return s.run(ctx, one)
}

// Test sends an event of its own once. It returns who took it, and the errors of the others.
func (s *Sender) Test(ctx context.Context) (took []string, err error) {
	now := s.Now()
	one, err := newEvent("notify.test", now.String(), now, struct{}{})
	for _, target := range s.targets() {
		if failed := s.send(ctx, target, &one); failed != nil {
			err = errors.Join(err, fmt.Errorf("cannot send to notify.%s: %w", target, failed))
		} else {
			took = append(took, target)
		}
	}
	return took, err
}
