package text

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/keyword"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
)

// A dictionary calls found with every word that a accepts, and its distance.
//
// It is bleve's part: the term dictionary of a scorch segment in memory, searched with our own
// automaton. A user's text never reaches bleve's query parsers.
//
// The dictionary outlives the bleve index that made it. That index is closed, and with it its
// goroutine ends, before newDictionary returns. The segment is plain memory, and a search of it is
// safe for concurrent use. So there is nothing to close, and the garbage collector frees an Index
// like any other value.
type dictionary func(a *automaton, found func(word string, distance uint8)) error

const wordField = "w"

var errSegments = errors.New("bleve made more or less than one segment")

// newDictionary indexes every word of v in one batch, so that there is one segment to search.
func newDictionary(v *vocabulary, step func()) (_ dictionary, err error) {
	if v.len() == 0 {
		return func(*automaton, func(string, uint8)) error { return nil }, nil
	}

	index, err := bleve.NewUsing("", wordMapping(), scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, fmt.Errorf("cannot open a bleve index in memory: %w", err)
	}
	defer func() {
		if cerr := index.Close(); err == nil && cerr != nil {
			err = fmt.Errorf("cannot close the bleve index: %w", cerr)
		}
	}()

	// One batch makes one segment, which is all that later searches read.
	batch := index.NewBatch()
	for from := 0; from < v.len(); from += wordsPerDocument {
		step()
		var doc wordDocument
		for id := from; id < min(from+wordsPerDocument, v.len()); id++ {
			doc.W = append(doc.W, string(v.word(uint32(id))))
		}
		if err := batch.Index(strconv.Itoa(from), doc); err != nil {
			return nil, fmt.Errorf("cannot index %d words from %q on: %w", len(doc.W), doc.W[0], err)
		}
	}

	if err := index.Batch(batch); err != nil {
		return nil, fmt.Errorf("cannot index %d words: %w", v.len(), err)
	}

	return openDictionary(index)
}

// wordsPerDocument is how many words one bleve document has. bleve's work for a document costs as
// much as ten words. bleve estimates the memory of a segment from the size of earlier documents.
const wordsPerDocument = 64

type wordDocument struct {
	W []string `json:"w"`
}

func wordMapping() *mapping.IndexMappingImpl {
	word := bleve.NewTextFieldMapping()
	word.Analyzer = keyword.Name
	word.Store = false
	word.IncludeTermVectors = false
	word.IncludeInAll = false
	word.DocValues = false
	word.SkipFreqNorm = true
	how := bleve.NewIndexMapping()
	how.DefaultMapping = bleve.NewDocumentStaticMapping()
	how.DefaultMapping.AddFieldMappingsAt(wordField, word)
	return how
}

// openDictionary returns the term dictionary of the index's current snapshot.
func openDictionary(index bleve.Index) (dictionary, error) {
	advanced, err := index.Advanced()
	if err != nil {
		return nil, fmt.Errorf("cannot reach bleve's index: %w", err)
	}
	reader, err := advanced.Reader()
	if err != nil {
		return nil, fmt.Errorf("cannot read bleve's index: %w", err)
	}
	defer func() { _ = reader.Close() }() // it was only read

	snapshot, ok := reader.(*scorch.IndexSnapshot)
	if !ok || len(snapshot.Segments()) != 1 {
		return nil, errSegments
	}
	terms, err := snapshot.Segments()[0].Segment().Dictionary(wordField)
	if err != nil {
		return nil, fmt.Errorf("cannot open bleve's term dictionary: %w", err)
	}

	return func(a *automaton, found func(word string, distance uint8)) error {
		it := terms.AutomatonIterator(a, nil, nil)
		for {
			entry, err := it.Next()
			if err != nil || entry == nil {
				return err
			}
			found(entry.Term, entry.EditDistance)
		}
	}, nil
}
