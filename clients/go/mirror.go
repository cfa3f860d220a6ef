package ninepocket

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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
	SnapshotAt  string                 `json:"snapshot_at"` // empty after pagination
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

func byID[T any, TT row[T]](all map[string]*T) iter.Seq[*T] {
	return slices.Values(slices.SortedFunc(maps.Values(all), func(a, b *T) int {
		return strings.Compare(TT(a).identity(), TT(b).identity())
	}))
}

// Sync brings the mirror up to date: by the bulk at first, then by the changes. If the plan has no
// bulk, pagination takes its place. An interrupted Sync leaves the mirror unchanged, and downloaded
// parts for the next Sync.
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

// changes applies the changes since the mirror's snapshot.
func (m *Mirror) changes(ctx context.Context, next *catalog) error {
	since := next.SnapshotID
	to := ""
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
		now = &CardDetail{Prices: now.Prices} // not the old one's pointers, which are written through
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

// whole takes the whole catalog: by the bulk, or by pagination if this key has no bulk.
func (m *Mirror) whole(ctx context.Context, next *catalog) error {
	var wait time.Duration
	r := call{operation: "bulk_list", path: "/v1/bulk", forgets: true}
	r.answered = func(header http.Header) { wait = retryAfter(header) }
	var list BulkList
	err := m.client.repeat(ctx, r.operation, func() (bool, error) {
		err := m.client.get(ctx, r, &list)
		if err == nil && len(list.Files) == 0 && wait > 0 {
			err = &Error{
				Status: http.StatusServiceUnavailable, Code: "temporarily_unavailable",
				Detail: "the files of the bulk are not made yet", RetryAfter: wait,
			}
		}
		return false, err
	})

	// No files, and none to wait for: the plan has no bulk, or the operator may not pass it on.
	if hasStatus(err, http.StatusForbidden) || err == nil && len(list.Files) == 0 {
		return m.walk(ctx, next)
	}
	if err != nil {
		return err
	}
	return m.take(ctx, &list, next)
}

// take takes the files of the bulk that a mirror is made of.
func (m *Mirror) take(ctx context.Context, list *BulkList, next *catalog) error {
	*next = catalog{
		SnapshotID: list.SnapshotID, SnapshotAt: list.SnapshotAt, Attribution: list.Attribution,
		UseUntil: list.UseUntil, Cards: map[string]*CardDetail{}, Sets: map[string]*SetSummary{},
	}
	if err := takeFile(ctx, m, list, "cards.jsonl.zst", next.Cards); err != nil {
		return err
	}
	return takeFile(ctx, m, list, "sets.jsonl.zst", next.Sets)
}

// takeFile downloads a file of the bulk and reads its records, a line each.
func takeFile[T any, TT row[T]](ctx context.Context, m *Mirror, list *BulkList, name string, into map[string]*T) error {
	at := slices.IndexFunc(list.Files, func(file BulkFile) bool { return file.Name == name })
	if at < 0 {
		return fmt.Errorf("the bulk of %s has no %s", list.SnapshotID, name)
	}
	part := m.file(name + "-" + list.SnapshotID + ".part")
	err := m.client.download(ctx, "/v1/bulk/"+list.SnapshotID+"/"+name, part, list.Files[at].SHA256)
	if err != nil {
		return err
	}

	in, err := os.Open(part)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()

	for lines := json.NewDecoder(zstd.NewReader(bufio.NewReader(in))); ; {
		record := new(T)
		err := lines.Decode(record)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read %s: %w", part, err)
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
	pinned := m.client.At(next.SnapshotID)
	for set, err := range pinned.Sets(ctx, SetsListParams{}) {
		if err != nil {
			return err
		}
		next.Sets[set.ID] = &set
	}
	var ids []string
	for card, err := range pinned.Cards(ctx, CardsSearchParams{Fields: "name"}) {
		if err != nil {
			return err
		}
		ids = append(ids, card.ID)
	}

	details, err := pinned.CardsBatch(ctx, Batch{IDs: ids})
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

// save writes a catalog to a temporary file, renames it, and makes it the mirror's.
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
		_ = os.Remove(name) // the next one removes what remains
	}
	return nil
}

// download downloads a file of the bulk, resuming earlier bytes, until it is the file that the API listed.
func (c *Client) download(ctx context.Context, path, name, want string) error {
	out, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }() // the written bytes were read again

	return c.repeat(ctx, "bulk_get", func() (bool, error) {
		from, sum, err := sumOf(out)
		if err != nil || sum == want {
			return false, err
		}
		if err := c.fetchRange(ctx, path, from, out); err != nil {
			to, _, _ := sumOf(out) // if it cannot be read, the next try says so
			return to > from, err
		}
		_, sum, err = sumOf(out)
		if err == nil && sum != want {
			err = errors.Join(errors.New("the file differs from the API's list"), out.Truncate(0))
		}
		return false, err
	})
}

// sumOf returns the length and the SHA-256 of a file.
func sumOf(file *os.File) (length int64, sum string, err error) {
	hash := sha256.New()
	length, err = io.Copy(hash, io.NewSectionReader(file, 0, math.MaxInt64))
	return length, hex.EncodeToString(hash.Sum(nil)), err
}

// fetchRange appends the bytes of a file from a place on. It has no deadline but progress.
func (c *Client) fetchRange(ctx context.Context, path string, from int64, out *os.File) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(c.options.TryTimeout, cancel)
	defer watch.Stop()
	request, err := c.request(ctx, call{header: map[string]string{
		"Range": "bytes=" + strconv.FormatInt(from, 10) + "-", "Accept-Encoding": "identity",
	}}, c.base+path)
	if err != nil {
		return err
	}
	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()

	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		err = out.Truncate(0) // the server does not resume: the whole file comes again
	case http.StatusRequestedRangeNotSatisfiable:
		return out.Truncate(0) // all was there, and it is damaged
	default:
		body, _ := io.ReadAll(response.Body) // a part of it is enough to see that
		return refusal(response, body)
	}
	for err == nil {
		_, err = io.CopyN(out, response.Body, 64<<10)
		watch.Reset(c.options.TryTimeout)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
