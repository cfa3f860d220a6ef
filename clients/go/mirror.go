package ninepocket

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"ninepocket/clients/go/internal/zstd"
)

// Mirror is the whole catalog, in memory and in a folder. Its cards have variants and conditions as
// codes. It may be read by many at once, also during a Sync.
type Mirror struct {
	client *Client
	folder string
	now    atomic.Pointer[catalog]
}

// catalog is the content of a mirror, and of its file.
type catalog struct {
	SnapshotID  string                 `json:"snapshot_id"`
	SnapshotAt  string                 `json:"snapshot_at"` // empty after a walk
	Attribution string                 `json:"attribution"`
	UseUntil    string                 `json:"use_until"`
	Cards       map[string]*CardDetail `json:"cards"`
	Sets        map[string]*SetSummary `json:"sets"`
}

// OpenMirror opens the mirror in a folder, which may be empty. Nothing is called yet.
func OpenMirror(client *Client, folder string) (*Mirror, error) {
	m := &Mirror{client: client, folder: folder}
	m.now.Store(&catalog{})
	text, err := os.ReadFile(m.file("mirror.json"))
	if errors.Is(err, os.ErrNotExist) {
		return m, os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = json.Unmarshal(text, m.now.Load())
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the mirror: %w; empty the folder to take the whole again", err)
	}
	return m, nil
}

func (m *Mirror) file(name string) string { return filepath.Join(m.folder, name) }

// SnapshotID names the snapshot that the mirror has; it is empty before the first Sync.
func (m *Mirror) SnapshotID() string { return m.now.Load().SnapshotID }

// Card returns a card by its id, nil if there is none. It is not to be changed.
func (m *Mirror) Card(id string) *CardDetail { return m.now.Load().Cards[id] }

// Set returns a set by its id, nil if there is none.
func (m *Mirror) Set(id string) *SetSummary { return m.now.Load().Sets[id] }

// Cards yields all cards, by id.
func (m *Mirror) Cards() iter.Seq[*CardDetail] { return byID(m.now.Load().Cards) }

// Sets yields all sets, by id.
func (m *Mirror) Sets() iter.Seq[*SetSummary] { return byID(m.now.Load().Sets) }

func byID[T any](all map[string]*T) iter.Seq[*T] {
	return func(yield func(*T) bool) {
		for _, id := range slices.Sorted(maps.Keys(all)) {
			if !yield(all[id]) {
				return
			}
		}
	}
}

// Sync brings the mirror up to date: by the bulk at first, or a walk where the plan has none, and by
// what changed from then on. An interrupted Sync leaves the mirror as it was, and what was
// downloaded for the next one.
func (m *Mirror) Sync(ctx context.Context) error {
	have := m.now.Load()
	needsWhole := have.SnapshotID == ""
	for try := 0; ; try++ {
		next := &catalog{}
		var err error
		if needsWhole {
			err = m.whole(ctx, next)
			next.useCodes()
		} else {
			*next = *have
			next.Cards = maps.Clone(have.Cards)
			next.Sets = maps.Clone(have.Sets)
			err = m.changes(ctx, next)
		}

		// The snapshot is not served any more: the whole of the present one is.
		if hasStatus(err, http.StatusGone, http.StatusPreconditionFailed) && try < maxRestarts {
			needsWhole = true
			continue
		}
		if err != nil || next.SnapshotID == have.SnapshotID {
			return err
		}
		return m.save(next)
	}
}

// changes applies what changed since the mirror's snapshot.
func (m *Mirror) changes(ctx context.Context, next *catalog) error {
	since, to := next.SnapshotID, ""
	for _, kind := range []string{"cards", "sets", "prices"} {
		for row, err := range m.client.changes(ctx, ChangesListParams{Since: since, Kind: kind}, &to) {
			if err == nil {
				err = next.apply(kind, &row)
			}
			if err != nil {
				return err
			}
		}
		if to == since {
			return nil // nothing is new, which took one request
		}
	}
	*next = catalog{SnapshotID: to, Attribution: next.Attribution, Cards: next.Cards, Sets: next.Sets}
	return nil
}

// apply applies a row. Records are replaced, because others may be reading the old ones.
func (c *catalog) apply(kind string, row *Change) error {
	now := &CardDetail{Prices: []VariantPrice{}}
	if card := c.Cards[row.ID]; card != nil {
		*now = *card
	}
	switch {
	case kind == "sets" && row.Set == nil:
		delete(c.Sets, row.ID)
	case kind == "sets":
		c.Sets[row.ID] = &SetSummary{}
		return recode(row.Set, c.Sets[row.ID])
	case kind == "cards" && row.Card == nil:
		delete(c.Cards, row.ID)
	case kind == "cards":
		c.Cards[row.ID] = now
		return recode(row.Card, now)
	case c.Cards[row.ID] != nil:
		c.Cards[row.ID] = now
		now.Prices = slices.DeleteFunc(slices.Clone(now.Prices), func(lane VariantPrice) bool {
			return lane.Variant == row.Variant && lane.Condition == row.Condition
		})
		if row.Price != nil {
			lane := VariantPrice{Variant: row.Variant, Condition: row.Condition, Currency: "USD"}
			now.Prices = append(now.Prices, lane)
			return recode(row.Price, &now.Prices[len(now.Prices)-1])
		}
	}
	return nil
}

// recode copies the members that two records have in common.
func recode(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, to)
}

// maxBulkWaits is how often the list of files is asked for that are not made yet.
const maxBulkWaits = 30

// whole takes the whole catalog: by the bulk, or by a walk where there is none for this key.
func (m *Mirror) whole(ctx context.Context, next *catalog) error {
	for wait := 0; ; wait++ {
		r := call{operation: "bulk_list", path: "/v1/bulk", forgets: true}
		got, err := m.client.do(ctx, r)
		if hasStatus(err, http.StatusForbidden) {
			return m.walk(ctx, next)
		}
		var list BulkList
		if err == nil {
			err = decode(r, got.body, &list)
		}
		if err != nil {
			return err
		}
		if len(list.Files) > 0 {
			return m.take(ctx, &list, next)
		}

		// No files, and none to wait for: the operator may not pass them on.
		after := retryAfter(got.header, time.Now())
		if after == 0 || wait == maxBulkWaits {
			return m.walk(ctx, next)
		}
		if !pause(ctx, waitBefore(1, &Error{RetryAfter: after})) {
			return &UnreachableError{r.operation, wait + 1, errors.New("the files are not made yet")}
		}
	}
}

// take takes the files of the bulk that a mirror is made of.
func (m *Mirror) take(ctx context.Context, list *BulkList, next *catalog) error {
	*next = catalog{
		SnapshotID: list.SnapshotID, SnapshotAt: list.SnapshotAt, Attribution: list.Attribution,
		UseUntil: list.UseUntil, Cards: map[string]*CardDetail{}, Sets: map[string]*SetSummary{},
	}
	for _, file := range list.Files {
		name := m.file(file.Name + "-" + list.SnapshotID + ".part")
		isCards := file.Name == "cards.jsonl.zst"
		if !isCards && file.Name != "sets.jsonl.zst" {
			continue
		}
		err := m.client.download(ctx, "/v1/bulk/"+list.SnapshotID+"/"+file.Name, name, file.SHA256)
		if err == nil && isCards {
			err = readLines(name, next.Cards)
		} else if err == nil {
			err = readLines(name, next.Sets)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// readLines reads the records of a packed file, a line each, by their ids.
func readLines[T any, TT row[T]](name string, into map[string]*T) error {
	in, err := os.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	for lines := json.NewDecoder(zstd.NewReader(bufio.NewReader(in))); ; {
		record := new(T)
		err := lines.Decode(record)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", name, err)
		}
		into[TT(record).identity()] = record
	}
}

// walk takes the whole catalog in pages and batches, of one snapshot.
func (m *Mirror) walk(ctx context.Context, next *catalog) error {
	facets, err := m.client.Facets(ctx)
	if err != nil {
		return err
	}
	*next = catalog{SnapshotID: facets.SnapshotID, Cards: map[string]*CardDetail{}, Sets: map[string]*SetSummary{}}
	pin := map[string]string{"X-Snapshot-Id": next.SnapshotID}

	r := call{operation: "sets_list", path: "/v1/sets", query: url.Values{}, header: pin, forgets: true}
	for set, err := range walk[SetPage, SetSummary](ctx, m.client, r) {
		if err != nil {
			return err
		}
		next.Sets[set.ID] = &set
	}
	var ids []string
	r.operation = "cards_search"
	r.path = "/v1/cards"
	r.query.Set("fields", "name")
	for card, err := range walk[CardPage, CardSummary](ctx, m.client, r) {
		if err != nil {
			return err
		}
		ids = append(ids, card.ID)
	}

	details, err := m.client.CardsBatch(ctx, Batch{IDs: ids, Snapshot: next.SnapshotID})
	for _, card := range details.Data {
		next.Cards[card.ID] = &card
	}
	return err
}

// useCodes makes the conditions of all prices codes, as changes have them.
func (c *catalog) useCodes() {
	for _, card := range c.Cards {
		for i := range card.Prices {
			lane := &card.Prices[i]
			lane.Condition = strings.ToLower(strings.ReplaceAll(lane.Condition, " ", "_"))
		}
	}
}

// save writes a catalog beside its place, puts it there, and makes it the mirror's.
func (m *Mirror) save(next *catalog) error {
	file, err := os.Create(m.file("mirror.json.new"))
	if err != nil {
		return err
	}
	err = errors.Join(json.NewEncoder(file).Encode(next), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), m.file("mirror.json"))
	}
	if err != nil {
		return fmt.Errorf("cannot write the mirror: %w", err)
	}

	m.now.Store(next)
	parts, _ := filepath.Glob(m.file("*.part"))
	for _, name := range parts {
		_ = os.Remove(name) // what remains is removed by the next one
	}
	return nil
}
