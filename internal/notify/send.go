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
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

const (
	// answerTimeout limits one request, from the connection to the end of the answer.
	answerTimeout = 15 * time.Second
	// maxAnswer is how much of an answer is read, and of its header.
	maxAnswer = 4 << 10
	// commandTimeout is how long the command may run.
	commandTimeout = time.Minute
)

// passedVariables are the variables of the environment that the command gets: none is a setting.
var passedVariables = []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

// newClient returns a client that trusts the machine's certificates, follows no redirect and leaves
// no connection open.
func newClient() *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true,
		MaxResponseHeaderBytes: 4 * maxAnswer,
	}
	return &http.Client{
		Transport: transport, Timeout: answerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// signature returns the header webhook-signature of a message.
func signature(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body) // never fails
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// post sends an event to the URL. Its errors do not have the URL.
func (s *Sender) post(ctx context.Context, event *Event) error {
	key, err := s.key()
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(event.Body))
	if err != nil {
		return errors.New("notify.url cannot be asked")
	}

	timestamp := strconv.FormatInt(s.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "ninepocket")
	req.Header.Set("webhook-id", event.ID)
	req.Header.Set("webhook-timestamp", timestamp)
	req.Header.Set("webhook-signature", signature(key, event.ID, timestamp, event.Body))
	resp, err := s.Client.Do(req)
	if failed, ok := errors.AsType[*url.Error](err); ok {
		err = failed.Err
	}
	if err != nil {
		return err
	}

	// The status decides, and what follows 4 KiB is never read.
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	_ = resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("it answered %d", resp.StatusCode)
	}
	return nil
}

// run runs the command with an event on its standard input.
func (s *Sender) run(ctx context.Context, event *Event) error {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.Command[0], s.Command[1:]...)
	cmd.Stdin = bytes.NewReader(event.Body)
	cmd.Env = []string{"NINEPOCKET_EVENT_ID=" + event.ID, "NINEPOCKET_EVENT_TYPE=" + typeOf(event.Body)}
	for _, name := range passedVariables {
		if value, given := os.LookupEnv(name); given {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}

	// Children that hold its output open do not hold the sender up.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("the command did not end within %s", commandTimeout)
	}
	return err
}

// typeOf returns the type of an event.
func typeOf(text []byte) string {
	var event body
	_ = json.Unmarshal(text, &event) // what cannot be read has none
	return event.Type
}

// target is who is sent events.
type target struct {
	name string // url or command
	send func(context.Context, *Event) error
}

// targets returns who is sent events.
func (s *Sender) targets() (all []target) {
	if s.URL != "" {
		all = append(all, target{"url", s.post})
	}
	if len(s.Command) > 0 {
		all = append(all, target{"command", s.run})
	}
	return all
}

// Test sends an event of its own to everybody, once. The result has the error of each target by its
// name, nil for one that took it.
func (s *Sender) Test(ctx context.Context) (results map[string]error, err error) {
	event, err := New(TypeTest, s.Now().Format(time.RFC3339Nano), s.Now(), struct{}{})
	results = map[string]error{}
	for _, to := range s.targets() {
		results[to.name] = to.send(ctx, &event)
	}
	return results, err
}

// sortedIDs returns ids ascending, which is by time, each once.
func sortedIDs(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}
