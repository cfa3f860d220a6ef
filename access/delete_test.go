package access

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ninepocket/access/keys"
	"ninepocket/access/state"
	"ninepocket/calendar"
)

// filesWith returns the files of a directory that have a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// goner is the name of the tenant that TestRenameDeleted deletes.
const goner = "goner-of-the-test"

// TestRenameDeleted makes random calls of three tenants over days, batches too, and deletes one at
// a random moment: with calls in flight, with a crash before the checkpoint or without. Then its
// name is in no file, its rows stand under the opaque name, and those of the others are unchanged.
func TestRenameDeleted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newDeletion(t, rand.New(rand.NewPCG(seed, 39)))
			s.calls(10 + s.random.IntN(300))

			// Two calls begin before the deletion and end after it.
			p := s.principal(0)
			flying := s.store.Admit(p, SpecFor(p, CardsGet), s.now)
			batch := s.store.Admit(s.principal(1), SpecFor(s.principal(1), PricesBatch), s.now)
			claim, err := s.store.Begin(batch.Reservation, "late", BodyHash{1}, s.now)
			if err != nil {
				t.Fatal(err)
			}
			owners := s.delete()

			if crash := s.random.IntN(2) == 0; crash {
				_ = s.store.dir.Between(func(*state.File) error {
					s.store.rename(s.store.tenant(goner), s.opaque)
					return nil
				})
				s.end(flying, batch, claim)
				s.store.Kill()
				s.open()
				if err := s.store.RenameDeleted(owners); err != nil {
					t.Fatal(err)
				}
			} else {
				if err := s.store.RenameDeleted(owners); err != nil {
					t.Fatal(err)
				}
				s.end(flying, batch, claim)
			}
			s.compare(filesWith(t, s.dir, goner))

			// Neither a checkpoint nor a start brings the name back.
			if err := s.store.SaveCheckpoint(); err != nil {
				t.Fatal(err)
			}
			s.store.Kill()
			s.open()
			s.compare(filesWith(t, s.dir, goner))
			if report, err := VerifyState(s.dir); err != nil || len(report.Damage) > 0 {
				t.Errorf("%v, %v", report.Damage, err)
			}
		})
	}
}

// deletion is a store whose calls are counted apart.
type deletion struct {
	t      *testing.T
	random *rand.Rand
	dir    string
	ring   *keys.Ring
	raw    []string
	store  *LocalStore
	now    Instant
	opaque string
	want   map[LedgerRow]Counts
}

func newDeletion(t *testing.T, random *rand.Rand) *deletion {
	t.Helper()
	s := &deletion{
		t: t, random: random, dir: t.TempDir(), now: instant(testTime), opaque: keys.MintOpaque(),
		want: map[LedgerRow]Counts{},
	}
	err := keys.Update(s.dir, func(f *keys.File) error {
		for _, wanted := range []keys.NewKey{
			{Tenant: goner, Surface: keys.Live, Plan: "unlimited"},
			{Tenant: goner, Surface: keys.Preview, Plan: "unlimited"},
			{Tenant: "stays", Surface: keys.Live, Plan: "unlimited"},
			{Tenant: goner + "-not", Surface: keys.Live, Plan: "unlimited"},
		} {
			_, text, err := f.Create(wanted, testTime)
			if err != nil {
				return err
			}
			s.raw = append(s.raw, text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	s.ring, err = keys.OpenRing(s.dir, keys.DefaultPlans())
	if err != nil {
		t.Fatal(err)
	}
	s.open()
	t.Cleanup(func() { s.store.Kill() })
	return s
}

func (s *deletion) open() {
	store, err := OpenLocal(s.dir, LocalOptions{Now: s.now, boot: noBoot, Seams: state.Seams{
		Inline: true, Disk: quick().Disk,
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.store = store
}

func (s *deletion) principal(key int) *keys.Principal {
	p, err := s.ring.FindCached([]byte(s.raw[key]), s.now.Wall, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

// count adds a call to what is wanted.
func (s *deletion) count(p *keys.Principal, op Operation, charged int64) {
	row := LedgerRow{Tenant: p.Tenant, Key: p.KeyID, Day: calendar.DayOf(s.now.Wall), Operation: op}
	counts := s.want[row]
	counts.Calls++
	counts.Charged += charged
	s.want[row] = counts
}

// calls makes calls of all keys over some days, with a checkpoint or a crash now and then.
func (s *deletion) calls(n int) {
	for i := range n {
		s.now.Wall += s.random.Int64N(calendar.DayMillis / 40)
		s.now.Mono += calendar.MinuteMillis / 20
		key := s.random.IntN(len(s.raw))
		p := s.principal(key)
		op := []Operation{CardsGet, CardsSearch, SetsGet}[s.random.IntN(3)]
		batched := key == 1 && s.random.IntN(2) == 0
		if key == 1 {
			op = ProductsList
		}
		if batched {
			op = PricesBatch
		}

		decision := s.store.Admit(p, SpecFor(p, op), s.now)
		if decision.Result != Admitted {
			s.t.Fatal(decision)
		}
		var charge Charge
		var err error
		if batched {
			var claim Claim
			claim, err = s.store.Begin(decision.Reservation, fmt.Sprint("batch", i), BodyHash{}, s.now)
			if err == nil {
				charge, err = s.store.Commit(decision.Reservation, claim, []byte("a reply"))
			}
		} else {
			charge, err = s.store.Finish(decision.Reservation, s.random.IntN(4) > 0)
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.count(p, op, charge.Charged)

		if s.random.IntN(40) == 0 {
			if err := s.store.SaveCheckpoint(); err != nil {
				s.t.Fatal(err)
			}
		}
	}
}

// delete deletes the tenant in the keys file and in what is wanted.
func (s *deletion) delete() map[string]string {
	err := keys.Update(s.dir, func(f *keys.File) error { return f.Delete(goner, s.opaque, time.Now()) })
	if err == nil {
		err = s.ring.Reload()
	}
	if err != nil {
		s.t.Fatal(err)
	}

	renamed := map[LedgerRow]Counts{}
	for row, counts := range s.want {
		if row.Tenant == goner {
			row.Tenant = s.opaque
		}
		renamed[row] = counts
	}
	s.want = renamed
	return s.ring.Deleted()
}

// end ends the calls that began before the deletion.
func (s *deletion) end(flying, batch Decision, claim Claim) {
	charge, err := s.store.Finish(flying.Reservation, true)
	if err == nil && charge.Charged == 1 {
		charge, err = s.store.Commit(batch.Reservation, claim, []byte("late"))
	}
	if err != nil || charge.Charged != 1 {
		s.t.Fatal(charge, err)
	}
	for _, ended := range []Reservation{flying.Reservation, batch.Reservation} {
		p := &keys.Principal{Tenant: s.opaque, KeyID: ended.Principal.KeyID}
		s.count(p, ended.Spec.Operation, 1)
	}
}

func (s *deletion) compare(found []string) {
	s.t.Helper()
	for _, path := range found {
		data, err := os.ReadFile(path)
		left := bytes.ReplaceAll(data, []byte(goner+"-not"), nil)
		if err != nil || bytes.Contains(left, []byte(goner)) {
			s.t.Errorf("%s has the name, %v", path, err)
		}
	}

	got := map[LedgerRow]Counts{}
	rows, err := ReadLedger(s.dir, "", 0, 1<<20)
	for _, row := range rows {
		counts := row.Counts
		row.Counts = Counts{}
		got[row] = counts
	}
	if diff := cmp.Diff(s.want, got); err != nil || diff != "" {
		s.t.Errorf("%v: %s", err, diff)
	}
}
