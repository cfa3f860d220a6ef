// Package explain says of one card why it has the prices that it has, or none.
//
// It reads the results of a build: the snapshot, its quarantine report, and the feed directory with
// the index of archived days. A reason is what the loader did, in a sentence.
package explain

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"ninepocket/feed"
	"ninepocket/snapshot"
)

// ErrUnknown is that of a card that nothing is known of.
var ErrUnknown = errors.New("no catalog ever had it, and no feed that is here lists it")

// Options say where to look besides the snapshot; "" is nowhere.
type Options struct {
	Feed    string // folder of the pulled feed
	Mapping string // folder of the operator's mapping
	Report  string // file of what the build refused
}

// Reason is why there is no price, as a code and in a sentence.
type Reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// Lane is a variant of a card in a condition.
type Lane struct {
	Variant    string  `json:"variant"`
	Condition  string  `json:"condition"`
	Feed       string  `json:"feed"`
	LastDay    string  `json:"last_day"` // that the feed had a row of it
	Cents      *int64  `json:"price_cents"`
	LastCents  *int64  `json:"last_price_cents"` // its newest price
	LastPriced string  `json:"last_price_day"`
	Reason     *Reason `json:"reason"` // why it has no price, or one of an earlier day
}

// Explanation is what is known of a card.
type Explanation struct {
	Snapshot  string   `json:"snapshot"`
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Set       string   `json:"set"`
	Number    string   `json:"number"`
	InCatalog bool     `json:"in_catalog"`
	Refs      []string `json:"references"` // NAMESPACE:REF
	Lanes     []Lane   `json:"lanes"`
	Reasons   []Reason `json:"reasons"`            // why the card as a whole is not there, or has no lane
	Gaps      []string `json:"missing"`            // days that its feed lacks, or its group of them
	Refused   []Line   `json:"quarantine"`         // what concerns it
	Days      []string `json:"days"`               // archived ones that have a row of it
	Unknown   []string `json:"days_without_index"` // without a known reason
}

// explainer makes one explanation.
type explainer struct {
	Explanation
	c      *snapshot.Catalog
	item   int      // of the catalog
	group  string   // that the feed has it in, such as 3/604
	listed *product // nil if the feed directory does not list it
}

// Card explains a card of a snapshot, by id, slug, former slug, identifier or the URL of its page.
func Card(c *snapshot.Catalog, given string, o Options) (*Explanation, error) {
	// Empty lists are [] for scripts, and never null.
	e := &explainer{c: c, Explanation: Explanation{
		Snapshot: c.ID, Refs: []string{}, Lanes: []Lane{}, Reasons: []Reason{}, Gaps: []string{}, Refused: []Line{},
		Days: []string{}, Unknown: []string{},
	}}
	err := e.find(pageOf(given))
	if o.Feed != "" && err == nil {
		e.findProduct(filepath.Join(o.Feed, "current"))
		e.Days, e.Unknown, err = feed.DaysOf(filepath.Join(o.Feed, "days"), e.tcgRefs())
	}
	err = errors.Join(err, e.readReport(o.Report))

	switch {
	case err != nil:
	case e.InCatalog:
		e.explainItem()
	case !e.explainAbsence(o.Mapping):
		err = ErrUnknown
	}
	if err != nil {
		return nil, fmt.Errorf("cannot explain %q: %w", given, err)
	}
	return &e.Explanation, nil
}

// tcgRefs are the references of the feed that has archived days, such as 3/42382.
func (e *explainer) tcgRefs() (refs []string) {
	for _, of := range e.Refs {
		if ref, is := strings.CutPrefix(of, "tcgcsv:"); is {
			refs = append(refs, ref)
		}
	}
	return refs
}
