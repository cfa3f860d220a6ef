package explain

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"ninepocket/snapshot"
)

// pageOf is the id or slug in the URL of a page, or what was given.
func pageOf(given string) string {
	if strings.Contains(given, "://") {
		page, _, _ := strings.Cut(given, "?")
		return path.Base(strings.TrimSuffix(page, "/printings"))
	}
	return given
}

// find finds an item by its argument, and its entry in the registry.
func (e *explainer) find(given string) error {
	c := e.c
	// A mapping has a comma between namespace and reference.
	namespace, value, foreign := strings.Cut(strings.Replace(given, ",", ":", 1), ":")
	if foreign {
		namespace = strings.ToLower(strings.TrimSpace(namespace))
		given = strings.TrimSpace(value)
	}
	e.ID = given
	given = namespace + ":" + given
	// A slug of today counts more than a former one.
	asID := func(keys, ids *snapshot.Strings, key string) {
		if i := slices.Index(slices.Collect(keys.All()), key); i >= 0 {
			e.ID = ids.At(i)
		}
	}
	asID(&c.Registry.Slug, &c.Registry.SlugID, e.ID)
	asID(&c.Cards.Slug, &c.Cards.ID, e.ID)
	asID(&c.Registry.Ref, &c.Registry.RefID, namespace+"\x00"+e.ID)

	// An id is of one item, an identifier may be of several. Ids of products have the operator's own prefix.
	var ids []string
	sealed := c.Cards.ID.Len()
	for i := range c.NumItems() {
		var id string
		if i < sealed {
			id = c.Cards.ID.At(i)
		} else {
			id = "prd_" + c.Sealed.Tail.At(i-sealed)
		}
		is := tailOf(id) == tailOf(e.ID)
		for k, to := c.Identifiers.Of.Range(i); k < to && foreign; k++ {
			name := snapshot.PublicNamespace(c.Identifiers.Namespace.At(k))
			is = is || strings.ToLower(name)+":"+c.Identifiers.Value.At(k) == given
		}
		if is {
			ids = append(ids, id)
			e.item = i
		}
	}
	if len(ids) > 1 {
		return fmt.Errorf("%d cards have it: name one of %s", len(ids), strings.Join(ids[:min(len(ids), 3)], ", "))
	}

	e.InCatalog = len(ids) == 1
	e.ID = strings.Join(append(ids, e.ID)[:1], "")
	e.Refs = append(e.Refs, e.refsOf(e.ID)...)
	switch {
	case foreign && len(e.Refs) == 0:
		e.Refs = []string{given}
	case e.InCatalog && e.item >= sealed:
		e.Name = c.Sealed.Name.At(e.item - sealed)
	case e.InCatalog:
		e.Name = c.Cards.Name.At(e.item)
		e.Number = c.Cards.Number.At(e.item)
		e.Set = c.OfSet(&c.Sets.Name, e.item)
		groups := strings.Join(e.refsOf(c.OfSet(&c.Sets.ID, e.item)), " ")
		_, groups, _ = strings.Cut(" "+groups, " tcgcsv:")
		e.group, _, _ = strings.Cut(groups, " ")
	}
	return nil
}

// tailOf is an id without its prefix: a card that is a product has one tail for both ids.
func tailOf(id string) string { return id[strings.IndexByte(id, '_')+1:] }

// refsOf are the references by which sources know an id.
func (e *explainer) refsOf(id string) (refs []string) {
	for i := range e.c.Registry.Ref.Len() {
		if of := e.c.Registry.RefID.At(i); of == id || tailOf(of) == tailOf(id) && of[:4] != "set_" {
			refs = append(refs, strings.Replace(e.c.Registry.Ref.At(i), "\x00", ":", 1))
		}
	}
	return refs
}

// product is what a tree lists.
type product struct {
	ID       json.Number `json:"productId"`
	Name     string      `json:"name"`
	Extended []struct {
		Name string `json:"name"`
	} `json:"extendedData"`
}

// findProduct finds the card's product in a tree.
func (e *explainer) findProduct(tree string) {
	// A number of TCGplayer has no category.
	refs := append(e.tcgRefs(), "*/"+strings.TrimPrefix(strings.Join(e.Refs, ""), "tcgplayer:"))
	category, id := path.Split(refs[0])
	files, _ := filepath.Glob(filepath.Join(tree, "tcgplayer", category, "*", "products"))
	for _, file := range files {
		data, _ := os.ReadFile(file)
		var listed struct{ Results []product }

		// Most files are not decoded: the number is not in them.
		if !strings.Contains(string(data), id) || json.Unmarshal(data, &listed) != nil {
			continue
		}
		if i := slices.IndexFunc(listed.Results, func(p product) bool { return p.ID.String() == id }); i >= 0 {
			e.listed = &listed.Results[i]
			e.group, _ = filepath.Rel(filepath.Join(tree, "tcgplayer"), filepath.Dir(file))
			if len(refs) == 1 {
				e.Refs = append(e.Refs, "tcgcsv:"+path.Dir(e.group)+"/"+id)
			}
			return
		}
	}
}
