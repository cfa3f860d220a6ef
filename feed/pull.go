package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ninepocket/internal/disk"
	"ninepocket/snapshot"
)

// DefaultURL is the address of TCGCSV.
const DefaultURL = "https://tcgcsv.com"

const (
	// DefaultInterval is the time from a response to the next request: the feed asks for at least this.
	DefaultInterval = 100 * time.Millisecond
	// DefaultImageInterval is the interval for pictures, which come from another host.
	DefaultImageInterval = 250 * time.Millisecond
	// DefaultArchiveDays is the number of archived days that stay: the days of a snapshot's history, and a month.
	DefaultArchiveDays = 400
	// maxMissingShare is the part of a feed's groups that a feed directory may lack. One group may
	// always be missing.
	maxMissingShare = 0.05
	// maxRestarts is how often a pull starts again because the feed was rebuilt during it.
	maxRestarts = 3
	// maxTrees is the number of newest feed directories that stay: a build may still read the previous one.
	maxTrees = 2
)

// Options say what to pull and how. A zero Interval or ImageInterval means no wait.
type Options struct {
	Into          string   // directory of the feed
	URL           string   // "" for DefaultURL
	Games         []string // slugs, none for all games that the feed has
	Interval      time.Duration
	UserAgent     string
	ArchiveDays   int    // archived days that stay, 0 for all
	Images        string // folder that missing pictures go to, "" for none
	ImageInterval time.Duration
	// CollectedAt is the time of a feed without a time, or with a wrong time; zero for unknown. It also
	// accepts a feed directory that an earlier pull set aside for lack of a time.
	CollectedAt time.Time

	Client *http.Client     // nil for a default client
	Now    func() time.Time // the clock
	// Progress receives the progress of the pull; may be nil.
	Progress func(phase string, done, total int64)
	// OnWarning receives warnings for the operator of a pull that continues; may be nil.
	OnWarning func(text string)

	disk disk.FS // nil for disk.OS
}

// Result is the result of a pull.
type Result struct {
	New      bool      `json:"new"`        // false when the feed has nothing new
	Updated  time.Time `json:"updated"`    // the feed's own time of its build
	Day      string    `json:"day"`        // the day of its prices
	Tree     string    `json:"tree"`       // the current feed directory
	DayFile  string    `json:"day_file"`   // where the day's prices are archived
	Groups   int       `json:"groups"`     // that the feed lists
	Missing  []Missing `json:"missing"`    // that could not be fetched
	Requests int       `json:"requests"`   // that were made, retries among them
	Retries  int       `json:"retries"`    // among them
	Resumed  int       `json:"resumed"`    // files that an earlier pull had fetched
	Removed  []string  `json:"removed"`    // days that are no longer archived
	Images   int       `json:"images"`     // pictures that were fetched
	NoImages int       `json:"images_due"` // pictures that are still missing

	waited time.Duration // because hosts asked for it
}

// Missing is a file of a group that the feed did not give.
type Missing struct {
	Category string `json:"category"`
	Group    string `json:"group"`
	Name     string `json:"name"`
	File     string `json:"file"` // prices, or products
	Why      string `json:"why"`
	// UsedPrevious says that the products of the previous feed directory are used, so that only
	// prices are missing.
	UsedPrevious bool `json:"kept,omitempty"`
}

// The errors of a pull that callers distinguish.
var (
	// ErrBusy means that another pull works on the directory.
	ErrBusy = errors.New("another pull works on it")
	// ErrIncomplete means that the feed lacks too many files.
	ErrIncomplete = errors.New("half a feed is not used as a whole one")
	// ErrFeedRebuilt means that the feed was rebuilt during each attempt.
	ErrFeedRebuilt = errors.New("the feed was rebuilt while it was pulled")
	// ErrRateLimited means that the feed asks for a later request: nothing else is requested.
	ErrRateLimited = errors.New("the feed asks for a later request")
	// ErrUndated means that the feed directory is whole but the time of its build is unknown.
	ErrUndated = errors.New("the day of its prices is unknown")
	// ErrBadResponse means that a response of the feed is not valid.
	ErrBadResponse = errors.New("the response of the feed is not valid")
)

// pull is one pull.
type pull struct {
	Options
	fetcher
	result  Result
	stamped string // the time of the pulled feed directory and its day, in place of the feed's own text
	undated error  // why the feed's own time is not used
}

// Validate returns every problem of the options.
func (o *Options) Validate() error {
	var wrong []error
	problem := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	if o.Into == "" {
		problem("cannot pull a feed without a directory to pull it into")
	}

	url := o.url()
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		problem("cannot pull from %q: want a URL such as %s", o.URL, DefaultURL)
	}
	if url == DefaultURL && o.Interval < DefaultInterval {
		problem("cannot pull at an interval of %s: this feed asks for %s or more", o.Interval, DefaultInterval)
	}
	if o.Interval < 0 || o.ImageInterval < 0 || o.ArchiveDays < 0 {
		problem("cannot pull with an interval or a number of days below 0")
	}
	if strings.ContainsFunc(o.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		problem("cannot use the user agent %q: want plain ASCII", o.UserAgent)
	}
	if ahead := o.aheadOfNow(); ahead > maxAhead || ahead < -maxBehind {
		problem("cannot date the feed %s: give a time of the last %d days", o.CollectedAt.Format(time.RFC3339),
			maxBehind/(24*time.Hour))
	}

	for _, slug := range o.Games {
		game, ok := snapshot.GameBySlug(slug)
		if !ok || game.Category == "" {
			problem("cannot pull game %q: the feed has %s", slug, strings.Join(gamesOfFeed(), ", "))
		}
	}
	return errors.Join(wrong...)
}

// aheadOfNow is how far the operator's time is ahead of the clock, 0 without one.
func (o *Options) aheadOfNow() time.Duration {
	if o.Now == nil || o.CollectedAt.IsZero() {
		return 0
	}
	return o.CollectedAt.Sub(o.Now())
}

// url is the feed's address without a slash at its end.
func (o *Options) url() string { return strings.TrimRight(cmp.Or(o.URL, DefaultURL), "/") }

// gamesOfFeed are the slugs of the games that the feed has.
func gamesOfFeed() (all []string) {
	for _, game := range snapshot.Games {
		if game.Category != "" {
			all = append(all, game.Slug)
		}
	}
	return all
}

// categories are the feed's numbers of the wanted games.
func (o *Options) categories() (all []string) {
	wanted := o.Games
	if len(wanted) == 0 {
		wanted = gamesOfFeed()
	}
	for _, slug := range wanted {
		game, _ := snapshot.GameBySlug(slug)
		all = append(all, game.Category)
	}
	return all
}

// Pull brings the feed's files into a folder. Without a newer feed it does nothing. A failure
// half-way leaves current unchanged, and the next pull resumes the download.
func Pull(ctx context.Context, options Options) (*Result, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	lock, err := lock(options.Into)
	if err != nil {
		return nil, fmt.Errorf("cannot pull into %q: %w", options.Into, err)
	}
	defer lock.Unlock() //nolint:errcheck // it ends with the process at the latest

	p := &pull{Options: options, result: Result{Missing: []Missing{}, Removed: []string{}}}
	p.disk = cmp.Or(p.disk, disk.OS)
	p.Client = cmp.Or(p.Client, &http.Client{Timeout: answerTime})
	p.fetcher = fetcher{options: &p.Options, interval: p.Interval, result: &p.result}
	return &p.result, p.run(ctx)
}

func (p *pull) run(ctx context.Context) error {
	took, err := p.takeUndated()
	if !took {
		err = ErrFeedRebuilt
	}
	for start := 0; start < maxRestarts && errors.Is(err, ErrFeedRebuilt); start++ {
		if start > 0 {
			p.warn("the feed was rebuilt while it was pulled: the pull begins again")
		}
		err = p.once(ctx)
	}
	if err != nil {
		return fmt.Errorf("cannot pull %s: %w", cmp.Or(p.URL, DefaultURL), err)
	}
	p.indexDays(ctx)

	if p.Images != "" {
		if err := p.pictures(ctx); err != nil {
			return fmt.Errorf("cannot fetch pictures into %q: %w", p.Images, err)
		}
	}
	return nil
}

// once pulls the feed in its present state.
func (p *pull) once(ctx context.Context) error {
	stamp, updated, err := p.fetchStamp(ctx)
	if err != nil {
		return err
	}

	now := readTree(p.current())
	current := p.builtAt(p.current())
	same := stamp != "" && now.Stamp == stamp
	// This is known before anything is fetched.
	p.setTime(updated, stamp)
	p.result.Groups = now.Groups
	if same {
		p.result.Tree = p.current()
	}

	// If a group is missing, the pull requests it again. A complete feed is pulled once per
	// rebuild (S8).
	if same && len(now.Missing) == 0 && p.covers(now) {
		return p.archiveDay(p.result.Tree)
	}

	if err := p.startPartial(stamp, same); err != nil {
		return err
	}
	pulled, err := p.files(ctx, stamp)
	if err != nil {
		return err
	}

	// Files from two builds of the feed would belong to no single day.
	after, _, err := p.fetchStamp(ctx)
	switch {
	case err != nil:
		return err
	case after != stamp:
		return errors.Join(ErrFeedRebuilt, p.disk.Remove(p.partial()))
	}

	if stamp == "" {
		if err := p.date(); err != nil {
			return err
		}
		same = p.CollectedAt.IsZero() && p.result.Updated.Equal(current)
	}
	p.result.Missing = pulled.Missing
	p.result.New = !same || !slices.Equal(now.Missing, pulled.Missing) || !p.covers(now)
	if !p.result.New {
		// Files that were missing before are still missing.
		return p.disk.Remove(p.partial())
	}
	return p.finish(p.partial())
}

// setTime sets the time and day of the pulled feed directory, and the text that records the time.
func (p *pull) setTime(at time.Time, stamped string) {
	p.result.Updated = at
	p.result.Day = at.Format(time.DateOnly)
	p.result.DayFile = DayFile(p.Into, p.result.Day)
	p.stamped = stamped
}

// date finds the time of a feed directory if the feed does not give it: the operator's time, else
// the time of the newest file if that is plausible. Without either it is set aside.
func (p *pull) date() error {
	at := p.CollectedAt.UTC()
	if at.IsZero() {
		at = p.newest
		if p.Now().Sub(at).Abs() > maxAhead {
			return p.setAside()
		}
		p.warn("%s: %v; the time of the newest file is used: %s", lastUpdated, p.undated, at.Format(time.RFC3339))
	}
	p.setTime(at, at.Format(stampTime))
	return nil
}

// covers reports whether a feed directory has all wanted games.
func (p *pull) covers(t tree) bool {
	return !slices.ContainsFunc(p.categories(), func(c string) bool { return !slices.Contains(t.Categories, c) })
}

func (p *pull) warn(format string, args ...any) {
	if p.OnWarning != nil {
		p.OnWarning(fmt.Sprintf(format, args...))
	}
}

func (p *pull) progress(phase string, done, total int) {
	if p.Progress != nil {
		p.Progress(phase, int64(done), int64(total))
	}
}

func (p *pull) current() string { return filepath.Join(p.Into, "current") }
func (p *pull) partial() string { return filepath.Join(p.Into, "partial") }
func (p *pull) trees() string   { return filepath.Join(p.Into, "trees") }

// aside is the folder of feed directories and archived days that were taken out of use.
func (p *pull) aside() string { return filepath.Join(p.Into, "aside") }
