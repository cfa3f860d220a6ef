package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
