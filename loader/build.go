package loader

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ninepocket/loader/clean"
	"ninepocket/loader/history"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// Input is one --source or --prices argument: the kind of the input, and its path.
type Input struct{ Kind, Path string }

// ParseInput reads KIND:PATH.
func ParseInput(s string) (Input, error) {
	kind, path, ok := strings.Cut(s, ":")
	if !ok || path == "" || !slices.Contains(source.KindNames(), kind) {
		return Input{}, fmt.Errorf("cannot read input %q: want KIND:PATH with KIND one of %s", s,
			strings.Join(source.KindNames(), ", "))
	}
	return Input{Kind: kind, Path: path}, nil
}

// String returns an input as given.
func (in Input) String() string { return in.Kind + ":" + in.Path }

// MarshalText returns an input as given.
func (in Input) MarshalText() ([]byte, error) { return []byte(in.String()), nil }

// Options are the inputs and settings of a build.
type Options struct {
	// Sources have a catalog and mostly prices, too. Their order is their order of authority. Prices
	// are inputs with prices only.
	Sources, Prices []Input

	// Base is an earlier catalog that the new catalog continues; nil means none. It supplies ids, slugs,
	// history and the prices of its newest day. So a daily build reads only one day's files. Each of its
	// sections has the bytes of a build over all days, with these exceptions:
	//   - The quarantine report covers only the files that were read.
	//   - The registry also has the base's entries; the gone cards of the base stay, too.
	//   - History starts again for an item that left the catalog and came back, or whose prices began
	//     before the catalog had the item.
	//   - A lane also starts again if its first feed had no prices for as long as history lasts, and a
	//     later feed had prices.
	//   - An item keeps its slug although a new item would now get an equal slug.
	//
	// If no source has a catalog, the base's catalog is used whole. If the base and a history file both
	// have a row of a day, the build uses the base's row.
	Base *snapshot.Catalog

	// SnapshotAt is the time of the catalog; zero means the newest collected_at of all rows (decision
	// 18). CollectedAt is when a live feed without a time was fetched; zero means unknown.
	SnapshotAt, CollectedAt time.Time

	// ArchivedDays are files of prices by day, as a pull archives them. A day is read if it is before a
	// source's newest prices, and the base lacks the day or some of its groups. The inputs of a day are its
	// last version and then earlier versions. If a group's rows are wrong in the last version, an earlier
	// version is used.
	ArchivedDays map[snapshot.Day][]Input
	// RereadDays reads all archived days again, whatever the base has.
	RereadDays bool
	// Guards are the operator's limits of a day's changes; nil means the defaults. They also judge archived
	// days.
	Guards guard.Limits

	// Mapping is the operator's mapping directory; "" means none. Its files are sealed.csv, aliases.csv,
	// removed.csv, feeds.toml and search_aliases.csv.
	Mapping string
	// Names is the operator's file of card names in other languages, by card number; "" means none. Only the
	// names of Languages are read; no Languages means all.
	Names     string
	Languages []string
	// Images is the operator's folder of pictures; "" means none. If a card's picture may have several
	// names, the existing file is used.
	Images string
	// IncludeUnmatched adds cards of a later source even if no earlier source has them.
	IncludeUnmatched bool
	// Unpack is source.Options.Unpack.
	Unpack []string
	// Progress receives the name of the build's phase and the finished part of the total. A total of 0 is
	// unknown. Nil means no reports.
	Progress func(phase string, done, total int64)
}

// Result is a built catalog and its report.
type Result struct {
	Catalog          *snapshot.Catalog
	Quarantine       []byte // a JSON object a line: reason, file, line, ref, value
	QuarantineCounts map[string]int
	Report           Report
}

// Build reads all inputs and builds the catalog. A faulty record is quarantined. A fault of a whole
// input, of the mapping or of the identities is an error. Build only reads the base.
func Build(ctx context.Context, o Options) (*Result, error) {
	b, err := newBuilder(o, source.Open)
	if err != nil {
		return nil, err
	}
	return b.build(ctx)
}

// builder is one build.
type builder struct {
	o       Options
	open    func(kind, path string, options source.Options) (source.Source, error)
	mapping *mapping
	names   otherNames

	pictures     pictures
	quarantine   clean.Quarantine
	report       Report
	pool         clean.Pool
	excludedRefs map[string]bool // full references that a source has and this catalog leaves out
	// droppedRefs are the excludedRefs that the base has: they leave the catalog.
	droppedRefs map[string]bool
	// missingProducts are the full references of groups whose products a source lacks.
	missingProducts map[string]bool
	listedGroups    map[string]bool // full references of the groups that a source lists
	today           snapshot.Day    // the newest day that the sources or the base know of

	feeds    []feed
	registry *registry
	// baseGames are the numbers of the base's games.
	baseGames   []uint8
	merged      *merged
	variants    variants
	lanes       *laneTable
	history     history.Layers
	newest      newestDays
	priceCounts []dayCounts // by input with prices, as report.Prices

	onRemoved   func(sealed *sealed, lacks string) // receives the records that leave the catalog; may be nil
	onUnmatched func(unmatchedSet)                 // receives the sets that no earlier source has; may be nil
	missing     map[gapKey]gap
	// reserved are the namespaces whose data may not be passed on in bulk.
	reserved map[string]bool
	// unclaimed has the first day of each full reference that had prices but no item. lacksFrom has, for
	// some items, the day from which their history lacks archived days.
	unclaimed map[string]snapshot.Day
	lacksFrom map[int32]snapshot.Day
	itemOf    []int32 // item of the base → item, -1 for none
	rowOf     []int32 // item → item of the base with its id, -1 for none
	staying   []bool  // item of the base → whether an item has its id
	rowOfID   map[string]int32
	rowOfRef  []int32         // row of the base's registry → item of the base, -1 for none
	priced    map[gapKey]bool // groups that have a price row of a day
	// archiveOf has the archived file whose rows were used, by group and day.
	archiveOf map[gapKey]string

	latest    snapshot.Day // the latest day of any row
	until     int64        // rows collected later are refused; NoTime if the rows determine the snapshot's time
	collected int64        // the newest collected_at, NoTime without a row
}

func newBuilder(o Options, open func(string, string, source.Options) (source.Source, error)) (*builder, error) {
	if len(o.Sources)+len(o.Prices) == 0 && o.Base == nil {
		return nil, errors.New("cannot build a catalog: there is no input")
	}
	if o.Base == nil {
		// An empty base supplies nothing.
		o.Base = &snapshot.Catalog{SnapshotAt: snapshot.NoTime}
	}

	mapping, err := loadMapping(o.Mapping)
	if err != nil {
		return nil, err
	}

	names, err := loadNames(o.Names, o.Languages)
	if err != nil {
		return nil, err
	}
	pictures, err := readPictures(o.Images)
	if err != nil {
		return nil, err
	}

	b := &builder{
		o: o, open: open, mapping: mapping, names: names, pictures: pictures, excludedRefs: map[string]bool{},
		droppedRefs: map[string]bool{}, missingProducts: map[string]bool{}, listedGroups: map[string]bool{},
		reserved: map[string]bool{}, unclaimed: map[string]snapshot.Day{},
		lacksFrom: map[int32]snapshot.Day{},
		until:     snapshot.NoTime, collected: snapshot.NoTime, latest: snapshot.NoDay,
		variants: variants{known: map[string]uint16{}},
		// Empty lists are [] for scripts, and never null.
		report: Report{
			SealedLeftOut: map[string]int{}, CardsUnverified: map[string]int{}, AliasRemarks: []string{},
			Filled: []string{}, Refused: []RefusedDay{}, Days: []DayGap{}, Groups: []CarriedGroup{},
			GroupReasons:     map[string]int{},
			UnlistedExamples: []string{}, Relisted: []Relisted{},
			MappingRemarks: []string{},
		},
		history: history.New(), missing: map[gapKey]gap{}, priced: map[gapKey]bool{},
		archiveOf: map[gapKey]string{},
	}

	if !o.SnapshotAt.IsZero() {
		b.until = o.SnapshotAt.UnixMilli()
		// Rows that are too old for this instant need not be stored.
		b.history.Observe(snapshot.DayOf(b.until))
		if o.Base.SnapshotAt > b.until {
			return nil, fmt.Errorf("cannot build a catalog of %s: the base describes the later %s",
				timeText(b.until), timeText(o.Base.SnapshotAt))
		}
	}

	b.baseGames, err = gamesOfBase(o.Base)
	if err != nil {
		return nil, err
	}

	b.registry = newRegistry(o.Base)
	b.indexBase()

	return b, nil
}

// openInput is an input and its source.
type openInput struct {
	Input
	source.Source
	archived bool           // it is an archived day
	fills    bool           // the base has nothing of that day
	only     map[int32]bool // prices of these items are used; nil = all items
}

func (b *builder) build(ctx context.Context) (*Result, error) {
	sources, err := b.openAll(b.o.Sources)
	if err != nil {
		return nil, err
	}
	prices, err := b.openAll(b.o.Prices)
	if err != nil {
		return nil, err
	}
	b.today = b.findToday(sources)
	// Records come first, then their names, then their prices.
	if err := b.readCatalogs(ctx, sources); err != nil {
		return nil, err
	}
	if err := b.merged.identify(b.registry); err != nil {
		return nil, err
	}

	b.findItemsOfBase()
	b.applySlugs()
	b.findLacking()
	archived := b.openArchived(sources)
	if err := b.listFeeds(sources, append(archived, prices...)); err != nil {
		return nil, err
	}

	// The base's lanes are entered before any price is read, because a price may be newer.
	b.lanes = &laneTable{head: slices.Repeat([]int32{-1}, b.merged.numItems())}
	b.lanes.all = make([]laneState, 0, len(b.o.Base.Lanes.Cents)*33/32)
	b.carryLanes()
	// Days ascend: each is compared with the previous day.
	for _, in := range archived {
		day := newestDay([]openInput{in}).String()
		if in.fills && !slices.Contains(b.report.Filled, day) {
			b.report.Filled = append(b.report.Filled, day)
		}
		err := b.readPrices(ctx, in, false)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			b.rejectDay(RefusedDay{Day: day, Input: in.Input, Why: err.Error(), Damaged: true})
		}
	}
	for i, in := range append(sources, prices...) {
		if err := b.readPrices(ctx, in, i < len(sources)); err != nil {
			return nil, err
		}
	}

	b.findNewest()
	// The catalog's instant is known only after the last row.
	at, err := b.snapshotAt()
	if err != nil {
		return nil, err
	}

	b.progress("assemble", 0, 0)
	catalog := b.assemble(at)
	base := b.o.Base
	b.report.LacksRecords = base.SnapshotAt != snapshot.NoTime && base.Unclaimed.Ref.Len() == 0 && !b.o.RereadDays
	b.report.QuarantineCut = b.quarantine.Cut
	b.report.MappingRemarks = append(b.report.MappingRemarks, b.mapping.unmatched(b.merged, b.registry)...)
	for i := range b.priceCounts {
		b.report.Prices[i].TooOld = b.priceCounts[i].before(catalog.Date() - snapshot.HistoryDays + 1)
	}

	return &Result{
		Catalog: catalog, Quarantine: b.quarantine.Lines.Bytes(), QuarantineCounts: b.quarantine.Counts,
		Report: b.report,
	}, nil
}

// openAll opens inputs with the operator's settings of their feeds. Settings have the name of the kind, or
// of the namespace if it differs.
func (b *builder) openAll(inputs []Input) ([]openInput, error) {
	var list []openInput
	for _, in := range inputs {
		options := func(feed string) (source.Options, bool) {
			options, ok := b.mapping.feeds[feed]
			b.mapping.usedFeeds[feed] = true
			options.CollectedAt = b.o.CollectedAt
			options.Unpack = b.o.Unpack
			return options, ok
		}

		reading, _ := options(in.Kind)
		reserved := reading.Reserved
		src, err := b.open(in.Kind, in.Path, reading)
		if err != nil {
			return nil, err
		}

		// The namespace is known once the input is open, and may have its own options.
		if ns := src.Feed().Namespace; ns != in.Kind {
			if options, ok := options(ns); ok {
				reserved = options.Reserved
				src, err = b.open(in.Kind, in.Path, options)
				if err != nil {
					return nil, err
				}
			}
		}

		b.reserved[src.Feed().Namespace] = reserved
		list = append(list, openInput{Input: in, Source: src})
	}

	return list, nil
}

// readCatalogs reads and merges the catalogs of the sources. If no source has a catalog, it uses the
// base's catalog.
func (b *builder) readCatalogs(ctx context.Context, sources []openInput) error {
	if !slices.ContainsFunc(sources, func(opened openInput) bool { return opened.Feed().HasCatalog }) {
		if b.o.Base.SnapshotAt == snapshot.NoTime {
			return errors.New("cannot build a catalog: no source has one, and there is no base to carry over")
		}
		b.merged = b.carryOver()
		return nil
	}

	items := b.o.Base.NumItems()
	merge := &merger{b: b, m: &merged{}}
	for _, opened := range sources {
		feed := opened.Feed()
		if !feed.HasCatalog {
			continue
		}

		report := SourceReport{Input: opened.Input, Namespace: feed.Namespace}
		gatherer := &catalogSink{
			sink: sink{b: b}, feed: feed, report: &report, setOf: map[string]int32{},
			seen: make(map[string]string, items), products: map[string]bool{}, foreignIDs: make(map[uint64]bool, items),
		}
		if len(merge.m.cards) == 0 {
			// It mostly has the base's records, and a few more.
			gatherer.out.cards = make([]card, 0, b.o.Base.Cards.ID.Len()*33/32)
		}
		if err := opened.Catalog(ctx, gatherer); err != nil {
			return fmt.Errorf("cannot read the catalog of %q: %w", opened.Input, err)
		}
		if err := ctx.Err(); err != nil {
			return err
		}

		// Prices of deliberately skipped records are no mistakes.
		if skipper, ok := opened.Source.(source.Skipper); ok {
			for _, ref := range skipper.Skipped() {
				report.CodeCardsLeftOut++
				b.drop([]string{fullRef(feed.Namespace, ref)})
			}
		}

		merge.add(gatherer.finish(), &report)
		b.report.Sources = append(b.report.Sources, report)
	}

	// The operator's mapping has the last word, so verification comes after all sources.
	b.merged = merge.m
	b.verify(b.merged)
	if b.merged.numItems() == 0 {
		return errors.New("cannot build a catalog: the sources have no card that could be used")
	}

	b.dropRemoved(b.merged)
	if err := b.joinAliases(b.merged); err != nil {
		return err
	}
	b.continueSets(b.merged)
	b.carryUnlisted(b.merged)
	b.findRelisted(b.merged)
	return nil
}

// readPrices reads the prices of one input.
func (b *builder) readPrices(ctx context.Context, in openInput, isSource bool) error {
	from := in.Feed()
	feed := b.feedOf(from.Namespace)
	report := PriceReport{Input: in.Input, Feed: from.Namespace}
	if dated, ok := in.Source.(source.NewestDayer); ok {
		if _, guessed := dated.Newest(); !guessed.IsZero() {
			report.FileTime = &guessed
		}
	}
	pricer := &priceSink{
		sink: sink{b: b}, index: b.indexRefs(from.Namespace, b.merged), feed: feed, report: &report,
		archived: in.archived, only: in.only, strict: isSource && from.HasCatalog,
		first: math.MaxInt32, last: snapshot.NoDay,
	}

	// Files from the operator are used unchanged.
	pricer.judged = in.archived || isSource && from.Namespace == source.KindTCGCSV
	if pricer.judged {
		// A day has about one row a lane.
		pricer.rows = make([]source.Price, 0, len(b.o.Base.Lanes.Cents))
	}
	if err := in.Prices(ctx, pricer); err != nil {
		return fmt.Errorf("cannot read the prices of %q: %w", in.Input, err)
	}
	if dated, ok := in.Source.(source.NewestDayer); ok && in.archived && len(pricer.rows) == 0 {
		day, _ := dated.Newest()
		b.rejectDay(RefusedDay{Day: day.String(), Input: in.Input, Why: "it has no price", Damaged: true})
	}
	pricer.flush()

	if pricer.last != snapshot.NoDay {
		report.First = pricer.first.String()
		report.Last = pricer.last.String()
	}

	b.report.Prices = append(b.report.Prices, report)
	b.priceCounts = append(b.priceCounts, pricer.dayCounts)
	return ctx.Err()
}

// snapshotAt returns the time of the catalog. If no time is given, it is the newest collected_at of
// all rows and of the base (decision 18). A catalog without any price has the time of its newest
// entry.
func (b *builder) snapshotAt() (int64, error) {
	at := b.until
	if at == snapshot.NoTime {
		at = max(b.collected, b.o.Base.SnapshotAt)
	}

	if at == snapshot.NoTime && !b.o.CollectedAt.IsZero() {
		at = b.o.CollectedAt.UnixMilli()
	}

	if at == snapshot.NoTime {
		// Nothing was collected, so the newest entry says how new the catalog is.
		at = b.merged.newestEntry()
	}

	if at == snapshot.NoTime || at < 0 {
		return 0, errors.New("cannot find the snapshot's time: no input has a price or a date; " +
			"give it with --snapshot-at")
	}

	if b.latest > snapshot.DayOf(at) {
		return 0, fmt.Errorf("cannot find the snapshot's time: there are prices of %s "+
			"but nothing was collected after %s; give it with --snapshot-at", b.latest, timeText(at))
	}

	return at, nil
}

// findToday returns the newest day of the sources. If no source is a daily feed, it uses the base's day.
func (b *builder) findToday(sources []openInput) snapshot.Day {
	if newest := newestDay(sources); newest != snapshot.NoDay {
		return newest
	}
	at := max(b.until, b.o.Base.SnapshotAt)
	if at == snapshot.NoTime {
		return 0
	}
	return snapshot.DayOf(at)
}

func (b *builder) progress(phase string, done, total int64) {
	if b.o.Progress != nil {
		b.o.Progress(phase, done, total)
	}
}

// timeText formats an instant in milliseconds for a report.
func timeText(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339Nano) }
