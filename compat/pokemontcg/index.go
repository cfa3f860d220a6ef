package pokemontcg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	bleveindex "github.com/blevesearch/bleve_index_api"

	"ninepocket/cardvocab"
)

// The words that stand before and behind each value, so that a phrase can be the whole one.
const valueStart, valueEnd = "\x01", "\x02"

const (
	// perBatch is how many records are a segment before they are merged, which bounds the memory of that.
	perBatch = 1000
	// maxCost bounds the work of a query, in records that are read one after another: a tenth of a second at most.
	maxCost = 1_000_000
	// perWord is how many records as much time as a word takes: stars stand for many.
	perWord = 250
	// perPlace is that of a record in a phrase, whose words have places to compare.
	perPlace = 4
	// perStarred is that of one for a word with stars, which stands for many in one place.
	perStarred = 40
)

// numbered is a number that a record has in a field.
type numbered struct {
	doc uint32
	n   float64
}

// collection is records of one kind that can be searched, numbered in their usual order.
type collection struct {
	fields map[string]kind
	n      int
	// each yields the values of a record by their paths, and value those of one path.
	each  func(doc int, yield func(path, text string))
	value func(doc int, path string, yield func(text string))

	reader     bleveindex.IndexReader
	toDoc      []uint32 // bleve's number → ours
	toInternal []uint32
	numbers    map[string][]numbered
	ranks      sync.Map // by field: the rank of each record among the field's texts, []uint32
}

// analyzer gives bleve the words of a value of a field.
type analyzer struct{ kind kind }

// Analyze implements analysis.Analyzer.
func (a analyzer) Analyze(value []byte) (tokens analysis.TokenStream) {
	list := a.kind.split(string(value))
	if len(list) == 0 {
		return nil
	}
	for i, word := range slices.Concat([]string{valueStart}, list, []string{valueEnd}) {
		tokens = append(tokens, &analysis.Token{Term: []byte(word), Position: i + 1})
	}
	return tokens
}

var noMapping mapping.IndexMapping = bleve.NewIndexMapping()

// build indexes the records in a separate folder, which may be removed afterwards. The index is one segment
// in a file that stays mapped: the system may drop its pages, and none are on the heap.
func (c *collection) build(ctx context.Context, path string) error {
	config := map[string]any{
		"path": path, "buildPathPrefix": filepath.Dir(path), "batchSize": perBatch, "read_only": true,
	}
	builder, err := scorch.NewBuilder(config)
	if err != nil {
		return err
	}
	c.numbers = map[string][]numbered{}
	for doc := 0; doc < c.n && err == nil; doc++ {
		err = cmp.Or(builder.Index(c.document(doc)), ctx.Err())
	}
	if err == nil {
		err = builder.Close()
	}
	if err != nil {
		return err
	}

	index, err := scorch.NewScorch(scorch.Name, config, nil)
	if err == nil {
		err = index.Open()
	}
	if err != nil {
		return err
	}

	// The reader does not need the rest, which is a database and its goroutines.
	c.reader, err = index.Reader()
	if err == nil {
		runtime.AddCleanup(c, func(reader bleveindex.IndexReader) { _ = reader.Close() }, c.reader)
		err = c.number()
	}
	return errors.Join(err, index.Close())
}

// document is a record for bleve. Its numbers are stored separately.
func (c *collection) document(doc int) *document.Document {
	out := document.NewDocument(strconv.Itoa(doc))
	value := uint64(0)
	c.each(doc, func(path, text string) {
		kind, known := c.fields[path]
		if !known {
			return
		}

		// One word is in no phrase, and needs no positions.
		options := bleveindex.IndexField
		if !kind.isOne() {
			options |= bleveindex.IncludeTermVectors
		}
		// Values of a list are apart: no phrase reaches from one to the next.
		value++
		out.AddField(document.NewTextFieldCustom(path, []uint64{value}, []byte(text), options, analyzer{kind}))
		if n, ok := kind.numberOf(text); ok {
			c.numbers[path] = append(c.numbers[path], numbered{uint32(doc), n})
		}
	})
	return out
}

// number finds which record each of bleve's numbers is.
func (c *collection) number() error {
	all, err := c.reader.DocIDReaderAll()
	if err != nil {
		return err
	}

	// bleve numbers the records of a batch as it likes.
	c.toDoc = make([]uint32, c.n)
	c.toInternal = make([]uint32, c.n)
	for {
		id, err := all.Next()
		if err != nil || id == nil {
			return errors.Join(err, all.Close())
		}
		internal := id.Value()

		// Our number is bleve's name of the record.
		name, err := c.reader.ExternalID(id)
		if err != nil {
			return err
		}
		doc, err := strconv.Atoi(name)
		if err != nil || doc >= c.n || internal >= uint64(c.n) {
			return fmt.Errorf("record %q is none", name)
		}
		c.toDoc[internal] = uint32(doc)
		c.toInternal[doc] = uint32(internal)
	}
}

// prices yields the numbers of a price field, which no index has.
type prices func(field string, yield func(doc uint32, n float64))

// find returns the records that a query means, in their usual order; all of them for nil.
func (c *collection) find(ctx context.Context, root *node, priced prices) ([]uint32, error) {
	if root == nil {
		all := make([]uint32, c.n)
		for i := range all {
			all[i] = uint32(i)
		}
		return all, nil
	}

	look := &lookup{collection: c, priced: priced}
	q, err := look.query(root)
	if err != nil {
		return nil, err
	}
	searcher, err := q.Searcher(ctx, c.reader, noMapping, search.SearcherOptions{Score: "none"})
	if err != nil {
		return nil, fmt.Errorf("cannot search: %w", err)
	}
	// It was only read. The file stays mapped as long as the collection is used.
	defer func() { _ = searcher.Close(); runtime.KeepAlive(c) }()

	// Matches are used again, so that a search of many does not allocate each.
	found := &search.SearchContext{
		DocumentMatchPool: search.NewDocumentMatchPool(searcher.DocumentMatchPoolSize()+1, 0),
	}
	var docs []uint32
	for {
		match, err := searcher.Next(found)
		if err != nil {
			return nil, fmt.Errorf("cannot search: %w", err)
		}
		if match == nil {
			slices.Sort(docs)
			return docs, nil
		}
		docs = append(docs, c.toDoc[match.IndexInternalID.Value()])
		found.DocumentMatchPool.Put(match)
	}
}

// lookup makes a query for bleve.
type lookup struct {
	*collection
	priced prices
	cost   int // so far
}

// query makes bleve's query of a node.
func (c *lookup) query(n *node) (query.Query, error) {
	switch {
	case n.term != nil && n.term.isRange:
		return c.rangeQuery(n.term), nil
	case n.term != nil:
		return c.wordQuery(n.term)
	}

	// Excluded terms stand next to required terms if both belong to one group.
	var must, not []query.Query
	for _, part := range slices.Concat(n.all, n.any) {
		q, err := c.query(part)
		if err != nil {
			return nil, err
		}
		switch {
		case part.not && n.any == nil:
			not = append(not, q)
		case part.not:
			must = append(must, query.NewBooleanQuery(nil, nil, []query.Query{q}))
		default:
			must = append(must, q)
		}
	}

	switch {
	case n.any != nil:
		return query.NewDisjunctionQuery(must), nil
	case not != nil:
		return query.NewBooleanQuery(must, nil, not), nil
	}
	return query.NewConjunctionQuery(must), nil
}

// wordQuery makes the query of adjacent words.
func (c *lookup) wordQuery(t *term) (query.Query, error) {
	// One word is found without positions, which a phrase needs.
	if len(t.words) == 1 && t.words[0] == "*" {
		return termQuery(t.field, valueStart), nil
	}
	if len(t.words) == 1 && (t.kind.isOne() || !t.whole) {
		list, err := c.expand(t.field, t.words[0], 1)
		if err != nil {
			return nil, err
		}
		either := make([]query.Query, len(list))
		for i, word := range list {
			either[i] = termQuery(t.field, word)
		}
		if len(either) == 1 {
			return either[0], nil
		}
		return query.NewDisjunctionQuery(either), nil
	}

	var phrase [][]string
	for _, word := range t.words {
		perRecord := perPlace
		if strings.Contains(word, "*") {
			perRecord = perStarred
		}
		list, err := c.expand(t.field, word, perRecord)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return query.NewMatchNoneQuery(), nil
		}
		phrase = append(phrase, list)
	}
	if t.whole {
		phrase = slices.Concat([][]string{{valueStart}}, phrase, [][]string{{valueEnd}})
	}
	return query.NewMultiPhraseQuery(phrase, t.field), nil
}

func termQuery(field, word string) query.Query {
	q := query.NewTermQuery(word)
	q.SetField(field)
	return q
}

// expand lists the words of a field that a word with stars stands for, which may be none. Each record that has
// one costs so much.
func (c *lookup) expand(field, pattern string, perRecord int) (list []string, err error) {
	prefix, _, starred := strings.Cut(pattern, "*")
	dict, err := c.reader.FieldDictPrefix(field, []byte(prefix))
	if err != nil {
		return nil, fmt.Errorf("cannot read bleve's words: %w", err)
	}
	defer func() { _ = dict.Close() }() // it was only read

	// A word itself comes before those that begin with it.
	for more := true; more; more = starred {
		entry, err := dict.Next()
		if err != nil || entry == nil {
			return list, err
		}
		// Marks of values are no words.
		if entry.Term < " " || !fits(pattern, entry.Term) {
			continue
		}
		list = append(list, entry.Term)
		c.cost += perWord + int(entry.Count)*perRecord
		if c.cost > maxCost {
			return nil, &refusal{fmt.Sprintf("%s in %s is too much, write fewer words or more letters", pattern, field)}
		}
	}
	return list, nil
}

// refusal is a query that would cost too much.
type refusal struct{ text string }

func (r *refusal) Error() string { return "q is too wide: " + r.text }

// rangeQuery marks the records whose numbers lie in a range.
func (c *lookup) rangeQuery(t *term) query.Query {
	q := &markedQuery{marks: make([]uint64, c.n/64+1)}
	take := func(doc uint32, n float64) {
		if t.contains(n) {
			internal := c.toInternal[doc]
			q.marks[internal/64] |= 1 << (internal % 64)
		}
	}
	if _, indexed := c.fields[t.field]; !indexed {
		c.priced(t.field, take)
		return q
	}
	for _, row := range c.numbers[t.field] {
		take(row.doc, row.n)
	}
	return q
}

// order is one name of orderBy.
type order struct {
	field string
	down  bool
}

// sort orders records by some fields; equal records stay in the usual order.
func (c *collection) sort(docs []uint32, by []order, priced prices) {
	columns := make([][]float64, len(by))
	for i, o := range by {
		columns[i] = c.column(o.field, priced)
	}

	slices.SortFunc(docs, func(a, b uint32) int {
		for i, o := range by {
			x := columns[i][a]
			y := columns[i][b]
			switch {
			case x == y:
			case x == absent || y == absent: // last in both directions
				return cmp.Compare(x, y)
			case o.down:
				return cmp.Compare(y, x)
			default:
				return cmp.Compare(x, y)
			}
		}
		return cmp.Compare(a, b)
	})
}

// absent is greater than each number of a record.
const absent = 1 << 62

// column is the number by which each record is ordered in a field: the smallest of several.
func (c *collection) column(field string, priced prices) []float64 {
	if known, ok := c.ranks.Load(field); ok {
		column, _ := known.([]float64) // nothing else is in it
		return column
	}

	// Several requests may make a column at once; all results are equal.
	column := slices.Repeat([]float64{absent}, c.n)
	lower := func(doc uint32, n float64) { column[doc] = min(column[doc], n) }
	kind, indexed := c.fields[field]
	switch {
	case !indexed: // prices differ from day to day
		priced(field, lower)
		return column
	case kind == number || kind == date:
		for _, row := range c.numbers[field] {
			lower(row.doc, row.n)
		}
	default:
		c.rankTexts(field, kind, column)
	}
	c.ranks.Store(field, column)
	return column
}

// rankTexts fills a column with the ranks of texts, case and accents aside. A record with several has its
// first one. Numbers of cards are in natural order.
func (c *collection) rankTexts(field string, kind kind, column []float64) {
	compare := cmp.Compare[string]
	if kind == label {
		compare = cardvocab.CompareNumbers
	}
	texts := make([]string, c.n)
	for doc := range texts {
		c.value(doc, field, func(text string) {
			if texts[doc] == "" {
				texts[doc] = plain(text)
			}
		})
	}

	// Equal texts have equal ranks, so that the next field decides.
	sorted := slices.Clone(texts)
	slices.SortFunc(sorted, compare)
	sorted = slices.Compact(sorted)
	for doc, text := range texts {
		if text != "" {
			rank, _ := slices.BinarySearchFunc(sorted, text, compare)
			column[doc] = float64(rank)
		}
	}
}
