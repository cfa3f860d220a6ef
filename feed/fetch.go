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
	// attempts is the number of attempts to fetch a file before the pull fails. A wait that the feed asks
	// for does not count as an attempt.
	attempts = 5
	// maxRetryAfter bounds the total wait of a pull that hosts ask for, the feed's host and the
	// pictures' host together. The evening job allows a pull two hours. A host that asks for more is
	// not asked again.
	maxRetryAfter = 90 * time.Minute
	// minWait is the first wait after a failure of a feed that is pulled without an interval.
	minWait = 10 * time.Millisecond
	// answerTime bounds one request of the client that a pull has without Options.Client: the largest file
	// is 3 MB.
	answerTime = 60 * time.Second
	// maxFile bounds a response, like the builder's reader.
	maxFile = 64 << 20
	// maxAhead is how far a feed's time may be ahead of the clock, or away from the feed directory's newest
	// file. It is a day, and two hours for different clocks and wrong time zones.
	maxAhead = 26 * time.Hour
	// maxBehind is how much older than the current feed directory a feed may be by its own time. A feed
	// restored from a copy is days older; a difference of a month or a year means that the time is wrong.
	maxBehind = 14 * 24 * time.Hour
	// stampTime is how the feed writes a time; its offset has no colon.
	stampTime = "2006-01-02T15:04:05-0700"
	// treeTime is the format of the time in a feed directory's name.
	treeTime = "2006-01-02T150405Z"
	// lastUpdated is the file with the time of the feed's build.
	lastUpdated = "last-updated.txt"
)

// fetcher fetches files of a feed, one at a time, and pauses for its interval after each response.
type fetcher struct {
	options  *Options
	interval time.Duration
	next     <-chan time.Time // nil before the first request
	result   *Result          // of the pull: its requests, retries and waits are counted there
	newest   time.Time        // the latest Last-Modified of any file
}

// statusError is a response that is not a file. asksToWait and permanent decide whether to try again.
type statusError struct {
	status int
	why    string
	after  time.Duration // the wait that the feed asks for, 0 without one
}

func (e *statusError) Error() string { return e.why }

// asksToWait reports whether the feed asks for fewer requests, whatever file was requested.
func (e *statusError) asksToWait() bool {
	return e.status == http.StatusTooManyRequests || e.status == http.StatusServiceUnavailable && e.after > 0
}

// permanent reports whether a repeated request would get an equal response.
func (e *statusError) permanent() bool {
	return e.status >= 400 && e.status < 500 && e.status != http.StatusTooManyRequests &&
		e.status != http.StatusRequestTimeout
}

// get fetches a file and retries after temporary failures. check returns the fault of a body, nil
// for a good body.
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

		// The feed knows best when to ask again. Such a wait does not count as an attempt.
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

// ask makes one request, an interval after the previous response.
func (f *fetcher) ask(ctx context.Context, url string) ([]byte, error) {
	if f.next != nil {
		select {
		case <-f.next:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	// The pause begins with the response; otherwise the next request would follow a slow response immediately.
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

// farAway is a number of seconds beyond every wait that a pull accepts.
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

// fetchStamp returns the time of the feed's build, as text and parsed. The text is "" if the time is missing
// or cannot be correct; then p.undated has the reason. A wrong year must not become a day of the archive.
func (p *pull) fetchStamp(ctx context.Context) (text string, at time.Time, err error) {
	body, err := p.get(ctx, p.url()+"/"+lastUpdated, func(body []byte) (err error) {
		at, err = parseStamp(string(body))
		return err
	})

	refused, answered := errors.AsType[*statusError](err)
	current := p.builtAt(p.current())
	switch {
	// The other files of the feed may be there.
	case answered && refused.permanent(), errors.Is(err, errNoTime):
		p.undated = err
	case err != nil:
		return "", at, fmt.Errorf("%w: %s: %w", ErrBadResponse, lastUpdated, err)
	case at.After(p.Now().Add(maxAhead)):
		p.undated = fmt.Errorf("%s is ahead of the clock", at.Format(time.RFC3339))
	case !current.IsZero() && current.Sub(at) > maxBehind:
		p.undated = fmt.Errorf("%s is long before the current feed directory", at.Format(time.RFC3339))
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

// response has the members that all files of the feed share.
type response struct {
	Success *bool             `json:"success"`
	Results []json.RawMessage `json:"results"`
}

// checkResponse checks that a body is a complete file of the feed: an error page or a truncated file
// is not.
func checkResponse(body []byte) error {
	var r response
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("answered with text that is not JSON: %w", err)
	}
	if r.Success != nil && !*r.Success {
		return errors.New("answered that it failed (success is not true)")
	}
	if r.Results == nil {
		return errors.New("answered without results")
	}
	return nil
}
