package feed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// attempts is how often a file is asked for before it is given up, unless the feed asks to wait: such a
	// wait is no attempt.
	attempts = 5
	// maxRetryAfter bounds how long a pull waits in all because a host asks it to, that of the feed or
	// that of the pictures: what starts it each evening gives it two hours. A host that wants more is
	// left alone.
	maxRetryAfter = 90 * time.Minute
	// minWait is the first wait after a failure of a feed that is pulled without an interval.
	minWait = 10 * time.Millisecond
	// answerTime bounds one request of the client that a pull has without Options.Client: the largest file
	// is 3 MB.
	answerTime = 60 * time.Second
	// maxFile bounds an answer, as the builder's reader does.
	maxFile = 64 << 20
	// maxAhead is how far a feed's time may be ahead of the clock, or a tree's newest file away from
	// it: a day, and two hours for clocks that differ and zones that were mistaken.
	maxAhead = 26 * time.Hour
	// maxBehind is how much older than the current tree a feed may say to be. One that was restored
	// from a copy is days older; a month or a year means that the time is wrong.
	maxBehind = 14 * 24 * time.Hour
	// stampTime is how the feed writes a time; its offset has no colon.
	stampTime = "2006-01-02T15:04:05-0700"
	// treeTime is how a tree's name writes a time.
	treeTime = "2006-01-02T150405Z"
	// lastUpdated is the file in which the feed says when it was built.
	lastUpdated = "last-updated.txt"
)

// fetcher asks a feed for files, one at a time, with a pause of its interval after each answer.
type fetcher struct {
	options  *Options
	interval time.Duration
	next     <-chan time.Time // nil before the first request
	result   *Result          // of the pull: its requests, retries and waits are counted there
	newest   time.Time        // the latest Last-Modified of any file
}

// statusError is an answer that is no file. asksToWait and permanent say whether to ask again.
type statusError struct {
	status int
	why    string
	after  time.Duration // how long the feed asks to wait, 0 if it does not say
}

func (e *statusError) Error() string { return e.why }

// asksToWait reports whether the feed wants the caller to be slower, whatever file it asks for.
func (e *statusError) asksToWait() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable && e.after > 0
}

// permanent reports whether the same request would get the same answer.
func (e *statusError) permanent() bool {
	return e.status >= 400 && e.status < 500 && e.status != http.StatusTooManyRequests &&
		e.status != http.StatusRequestTimeout
}

// get fetches a file, trying again what may pass. check returns what is wrong with a body, nil if
// nothing is.
func (f *fetcher) get(ctx context.Context, url string, check func([]byte) error) ([]byte, error) {
	wait := max(10*f.interval, minWait)
	for attempt := 1; ; attempt++ {
		body, err := f.ask(ctx, url)
		if err == nil {
			err = check(body)
		}
		if err == nil || ctx.Err() != nil {
			return body, errors.Join(err, ctx.Err())
		}

		refused, answered := errors.AsType[*statusError](err)
		asked := answered && refused.asksToWait()
		if asked && (attempt == attempts || f.result.waited+max(wait, refused.after) > maxRetryAfter) {
			return nil, fmt.Errorf("%w: %w", ErrRateLimited, err)
		}
		if answered && refused.permanent() || attempt == attempts {
			return nil, err
		}

		// The feed knows better than we when it can be asked again. To wait for it is no attempt.
		pause := wait
		if asked && refused.after > 0 {
			pause = max(wait, refused.after)
			f.result.waited += pause
			attempt--
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		wait *= 2
		f.result.Retries++
	}
}

// ask makes one request, an interval after the answer to the one before.
func (f *fetcher) ask(ctx context.Context, url string) ([]byte, error) {
	if f.next != nil {
		select {
		case <-f.next:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	// The pause begins with the answer: a slow one would otherwise have the next request at its heels.
	defer func() { f.next = time.After(f.interval) }()
	f.result.Requests++

	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", f.options.UserAgent)
	response, err := f.options.Client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // only read

	if response.StatusCode != http.StatusOK {
		refused := &statusError{
			status: response.StatusCode, why: "answered " + response.Status,
			after: f.retryAfter(response.Header.Get("Retry-After")),
		}
		if refused.after > 0 {
			refused.why += ", and asks for a wait of " + refused.after.Round(time.Second).String()
		}
		return nil, refused
	}
	if at, err := http.ParseTime(response.Header.Get("Last-Modified")); err == nil && at.After(f.newest) {
		f.newest = at.UTC()
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxFile+1))
	if err == nil && len(body) > maxFile {
		err = fmt.Errorf("answered more than %d bytes", maxFile)
	}
	return body, err
}

// farAway is a number of seconds beyond every wait that a pull takes.
const farAway = 1 << 30

// retryAfter reads the header of that name: seconds, or a date.
func (f *fetcher) retryAfter(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, farAway)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && f.options.Now != nil {
		return max(0, at.Sub(f.options.Now()))
	}
	return 0
}

// errNoTime is the error of a text that is no time.
var errNoTime = errors.New("is no time")

// fetchStamp returns when the feed was built, as its text and parsed. The text is "" when the feed does
// not say it, or cannot be right: then p.undated says why. A wrong year must not become a day of the archive.
func (p *pull) fetchStamp(ctx context.Context) (text string, at time.Time, err error) {
	body, err := p.get(ctx, p.url()+"/"+lastUpdated, func(body []byte) (err error) {
		at, err = parseStamp(string(body))
		return err
	})

	refused, answered := errors.AsType[*statusError](err)
	current := p.builtAt(p.current())
	switch {
	// The rest of the feed may be there.
	case answered && refused.permanent(), errors.Is(err, errNoTime):
		p.undated = err
	case err != nil:
		return "", at, fmt.Errorf("%w: %s: %w", ErrBadResponse, lastUpdated, err)
	case at.After(p.Now().Add(maxAhead)):
		p.undated = fmt.Errorf("%s is ahead of the clock", at.Format(time.RFC3339))
	case !current.IsZero() && current.Sub(at) > maxBehind:
		p.undated = fmt.Errorf("%s is long before the current tree", at.Format(time.RFC3339))
	default:
		return strings.TrimSpace(string(body)), at, nil
	}
	return "", time.Time{}, nil
}

// parseStamp reads the feed's "2026-08-22T20:05:43+0000", and RFC 3339.
func parseStamp(text string) (time.Time, error) {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\uFEFF"))
	for _, layout := range []string{stampTime, time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("it holds %.60q, which %w", text, errNoTime)
}

// response is what all files of the feed have in common.
type response struct {
	Success *bool             `json:"success"`
	Results []json.RawMessage `json:"results"`
}

// checkResponse wants a body to be one of the feed's replies: an error page, or a file that is cut, is
// none.
func checkResponse(body []byte) error {
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("answered what is not JSON: %w", err)
	}
	if r.Success != nil && !*r.Success {
		return errors.New("answered that it failed (success is not true)")
	}
	if r.Results == nil {
		return errors.New("answered without results")
	}
	return nil
}
