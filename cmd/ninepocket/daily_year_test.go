package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"ninepocket/feed"
	"ninepocket/internal/feedtest"
)

// The kinds of days of an operator's year.
const (
	goodDay      = "good"
	halfPull     = "half a feed"
	lostGroup    = "a group is missing"
	centsDay     = "cents for dollars"
	twiceDay     = "the same day twice"
	outage       = "the feed is down"
	refusedDay   = "refused, and mended the same evening"
	rolledBack   = "rolled back"
	fullDisk     = "a disk that is full"
	killedPull   = "the pull is killed"
	killedBuild  = "the build is killed"
	killedMoving = "the publication is killed"
)

// month is what the days of a month are; days beyond it are good.
var month = map[int]string{
	3: halfPull, 5: lostGroup, 7: centsDay, 8: twiceDay, 10: outage, 11: outage, 12: outage, 14: refusedDay,
	16: rolledBack, 18: fullDisk, 20: killedPull, 22: killedBuild, 24: killedMoving,
}

// A server runs over five days of the simulation, the last two of June and the first three of July.
const (
	servedFrom = 9
	servedDays = 5
)

// fortnight has a day of every kind, one after the other.
var fortnight = map[int]string{
	1: halfPull, 2: lostGroup, 3: centsDay, 4: twiceDay, 5: outage, 6: refusedDay, 7: rolledBack, 8: fullDisk,
	9: killedPull, 10: killedBuild, 11: killedMoving,
}

// operatorYear is an operator's year, day by day.
type operatorYear struct {
	*feedStore
	file   string
	random *rand.Rand
	kindOf map[int]string // by day of the period
	period int
	// names are the ids and slugs of the first day.
	names map[string]string
	// said is all that the days printed on stderr.
	said strings.Builder
	// missing are the days, and the groups of days, that could not be pulled or not be believed.
	missing map[string]bool
	kinds   map[string]int
}

// TestYear lives through two weeks with bad days of every kind, and make torture through a year.
// Over five days with a month's end a server of the clock of these days follows what is published,
// and is asked. At the end every pulled price is in the history to the cent, and every missing day
// or group was named. No id or slug has changed, and the bills equal the clients' count.
func TestYear(t *testing.T) {
	days := 14
	if long() {
		days = 365
	} else {
		t.Parallel()
	}

	h := newFeedStore(t, 12, 6)
	y := &operatorYear{
		feedStore: h, random: rand.New(rand.NewPCG(1, 19)), missing: map[string]bool{}, kinds: map[string]int{},
		file: h.configures("[daily]\nkeep = 5\n"), kindOf: fortnight, period: 14,
	}
	if long() {
		y.kindOf = month
		y.period = 28
	}
	began := time.Now()
	var server *monthsEnd
	for day := range days {
		if day == servedFrom {
			server = newMonthsEnd(t, h.store, firstEvening.AddDate(0, 0, servedFrom))
		}
		y.live(day)
		if day == 0 {
			y.names = y.feedStore.names()
		}

		n := day - servedFrom
		if server == nil || n < 0 || n >= servedDays {
			continue
		}
		server.day(n, y.current())
		if n == servedDays-1 {
			server.bills()
		}
	}

	y.hasAllPrices()
	if !maps.Equal(y.names, y.feedStore.names()) {
		t.Error("ids or slugs have changed")
	}
	y.namesGaps(days)
	t.Logf("%d days in %s: %v", days, time.Since(began).Round(time.Second), y.kinds)
}

// live does a day.
func (y *operatorYear) live(day int) {
	kind := y.kindOf[day%y.period]
	if kind == "" {
		kind = goodDay
	}
	y.kinds[kind]++
	weather := map[string]feedtest.Faults{
		halfPull: {Lost: []string{feedtest.Path(1, "prices"), feedtest.Path(7, "prices")}},
		// Another group each month.
		lostGroup: {Lost: []string{feedtest.Path(day/y.period%12, "prices")}, Busy: 1},
		centsDay:  {Wrong: []string{"tcgplayer/"}}, outage: {Down: true},
		refusedDay: {Wrong: []string{"tcgplayer/3/"}},
		killedPull: {Slow: 2 * time.Millisecond},
	}[kind]
	y.evening(day, weather)

	switch kind {
	case halfPull, outage:
		y.day(exitFailure)
		y.missing[dayName(day)] = true
	case centsDay:
		y.day(exitRefused)
		// Refused rows are no prices.
		delete(y.pulled, dayName(day))
		y.missing[dayName(day)] = true
	case lostGroup:
		y.day(exitOK)
		g := day / y.period % 12
		y.missing["group "+strings.TrimPrefix(filepath.Dir(feedtest.Path(g, "prices")), "tcgplayer/")+" on "+
			dayName(day)] = true
	case twiceDay:
		y.day(exitOK)
		served := y.current()
		y.day(exitOK)
		if y.current() != served {
			y.t.Errorf("%s: the same day is published twice", dayName(day))
		}
	case refusedDay:
		y.day(exitRefused)
		y.evening(day, feedtest.Faults{})
		y.feed.Rebuild(y.feed.At().Add(time.Hour))
		y.day(exitOK)
	case rolledBack:
		y.day(exitOK)
		y.does(exitOK, "snapshot", "rollback", "--reason", "looked wrong")
	case fullDisk:
		y.hasNoRoom(day)
		y.day(exitOK)
	case killedPull, killedBuild, killedMoving:
		y.killed(kind)
		y.evening(day, feedtest.Faults{})
		y.day(exitOK)
	default:
		y.day(exitOK)
	}
}

// day runs daily in this process.
func (y *operatorYear) day(code int) {
	_, stderr := y.days(code, y.file)
	y.said.WriteString(stderr)
}

// hasNoRoom runs daily where no file can grow beyond 4 KiB, and wants it to fail.
func (y *operatorYear) hasNoRoom(day int) {
	command := y.process("daily", "--config", y.file)
	args := append([]string{"-c", `ulimit -f 4; exec -a ninepocket "$0" "$@"`, command.Path}, command.Args[1:]...)
	limited := exec.CommandContext(y.t.Context(), "bash", args...)
	limited.Env = command.Env
	if out, err := limited.CombinedOutput(); err == nil {
		y.t.Errorf("%s: a day without room is done: %s", dayName(day), out)
	}
}

// process is the program as a process of its own.
func (y *operatorYear) process(args ...string) *exec.Cmd { return plainProcess(y.t, args...) }

// killed ends a day at a moment of one of its steps.
func (y *operatorYear) killed(step string) {
	command := y.process("daily", "--config", y.file)
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		y.t.Fatal(err)
	}

	// The step has begun when its first file is there.
	sign := map[string]string{
		killedPull: filepath.Join(y.into, "partial", "tcgplayer"), killedBuild: filepath.Join(y.into, "current"),
		killedMoving: filepath.Join(y.store, "tmp"),
	}[step]
	before, _ := os.Stat(sign)
	for range 400 {
		now, err := os.Lstat(sign)
		if err == nil && (before == nil || now.ModTime().After(before.ModTime())) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	time.Sleep(time.Duration(y.random.IntN(10)) * time.Millisecond)
	_ = command.Process.Kill()
	_ = command.Wait()
}

// namesGaps wants every day and group that could not be had, and nothing else, to be missing in what
// is published, and to have been said.
func (y *operatorYear) namesGaps(days int) {
	c := y.catalog()
	got := map[string]bool{}
	for i, day := range c.Gaps.Day {
		name := day.String()
		if group := c.Gaps.Group.At(i); group != "" {
			name = "group " + group + " on " + name
		}
		got[name] = true
	}
	if !maps.Equal(got, y.missing) {
		y.t.Errorf("missing are %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(y.missing)))
	}

	archived, err := feed.Days(filepath.Join(y.into, "days"))
	if want := days - y.kinds[halfPull] - y.kinds[outage]; err != nil || len(archived) != want {
		y.t.Errorf("%d of %d days are kept, want %d: %v", len(archived), days, want, err)
	}
	for name := range y.missing {
		if !y.named(name[len(name)-len(time.DateOnly):]) {
			y.t.Errorf("%s was never named", name)
		}
	}
}

// named reports whether a day was said, by itself or within a run of days.
func (y *operatorYear) named(day string) bool {
	if strings.Contains(y.said.String(), day) {
		return true
	}
	for _, run := range regexp.MustCompile(`(20\S{8}) to (20\S{8})`).FindAllStringSubmatch(y.said.String(), -1) {
		if run[1] < day && day < run[2] {
			return true
		}
	}
	return false
}
