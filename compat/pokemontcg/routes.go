package pokemontcg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/internal/jsonwalk"
	"ninepocket/wire"
)

// The operations, as usage names them.
const (
	cardsSearch access.Operation = "compat_cards_search"
	cardsGet    access.Operation = "compat_cards_get"
	setsList    access.Operation = "compat_sets_list"
	setsGet     access.Operation = "compat_sets_get"
	valuesList  access.Operation = "compat_values"
)

const (
	maxPageSize = 250
	maxPage     = 1_000_000
	maxNames    = 16 // of select and orderBy
)

var listParams = []string{"q", "page", "pageSize", "orderBy", "select"}

// Operations returns the routes of the API.
func (s *Service) Operations() []*api.Operation {
	op := func(path string, name access.Operation, run func(*state, *api.Request, *api.Reply) *wire.APIError,
		params ...string,
	) *api.Operation {
		return &api.Operation{
			Name: name, Method: "GET", Path: "/v2/" + path, Surface: keys.Live, Cacheable: true, Params: params,
			Run: func(request *api.Request, out *api.Reply) *wire.APIError { return s.run(request, out, run) },
		}
	}

	list := []*api.Operation{
		op("cards", cardsSearch, listCards, listParams...), op("cards/{id}", cardsGet, getCard, "select"),
		op("sets", setsList, listSets, listParams...), op("sets/{id}", setsGet, getSet, "select"),
	}
	for route := range valueRoutes {
		list = append(list, op(route, valuesList, func(st *state, _ *api.Request, out *api.Reply) *wire.APIError {
			out.Shared = st.values[route]
			return nil
		}))
	}
	return list
}

// AppendError appends an error in this API's format.
func AppendError(dst []byte, status int, message string) []byte {
	dst = wire.AppendText(dst, `{"error":{"message":`, message)
	return append(wire.AppendInt(dst, `,"code":`, int64(status)), "}}"...)
}

// run gives an operation the current state. It may belong to the View before the request's.
func (s *Service) run(
	request *api.Request, out *api.Reply, run func(*state, *api.Request, *api.Reply) *wire.APIError,
) *wire.APIError {
	if f := api.Invalid(request); f != nil {
		return f
	}

	st := s.state.Load()
	if st == nil {
		return &wire.APIError{
			Code: wire.TemporarilyUnavailable, RetryAfter: 5,
			Detail: "these cards are not loaded yet: try again in 5 seconds",
		}
	}
	if request.Pinned && request.View != st.view {
		request.View = st.view
		return refuse(wire.SnapshotGone, "only the current snapshot answers here")
	}
	// The response names the snapshot that it is of.
	request.View = st.view
	return run(st, request, out)
}

func refuse(code wire.Code, format string, args ...any) *wire.APIError {
	return &wire.APIError{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// listCards handles GET /v2/cards.
func listCards(st *state, request *api.Request, out *api.Reply) *wire.APIError {
	return list(&st.cards, request, out, st.isPrice, st.priceOf, st.appendCard)
}

// listSets handles GET /v2/sets.
func listSets(st *state, request *api.Request, out *api.Reply) *wire.APIError {
	return list(&st.sets, request, out, nil, nil, st.appendSet)
}

// appendSet appends a set.
func (s *state) appendSet(dst []byte, doc uint32) []byte { return append(dst, s.setJSON(int(doc))...) }

// getCard handles GET /v2/cards/{id}.
func getCard(st *state, request *api.Request, out *api.Reply) *wire.APIError {
	return one(st.records.card, "card", request, out, st.appendCard)
}

// getSet handles GET /v2/sets/{id}.
func getSet(st *state, request *api.Request, out *api.Reply) *wire.APIError {
	return one(st.set, "set", request, out, st.appendSet)
}

// one responds with the record of the path's id.
func one(
	rows map[string]uint32, thing string, request *api.Request, out *api.Reply,
	appendRecord func([]byte, uint32) []byte,
) *wire.APIError {
	ref, ok := request.PathID()
	doc, known := rows[ref]
	if !ok || !known {
		return refuse(wire.NotFound, "there is no %s with the id %s", thing, api.QuoteInput(ref))
	}
	picked, f := selection(request)
	if f != nil {
		return f
	}
	out.Body = append(out.Body, `{"data":`...)
	out.Body = append(picked.append(out.Body, doc, appendRecord), '}')
	return nil
}

// list responds with a page of the records that a query means.
func list(
	c *collection, request *api.Request, out *api.Reply, isPrice func(string) bool, priced prices,
	appendRecord func([]byte, uint32) []byte,
) *wire.APIError {
	page, badPage := whole(request, "page", 1, maxPage)
	size, badSize := whole(request, "pageSize", maxPageSize, maxPageSize)
	by, badOrder := ordering(c, request, isPrice)
	picked, badSelect := selection(request)
	if f := cmp.Or(badPage, badSize, badOrder, badSelect); f != nil {
		return f
	}

	docs, f := query2docs(c, request, isPrice, priced)
	if f != nil {
		return f
	}
	if len(by) > 0 {
		c.sort(docs, by, priced)
	}

	// A page behind the last one is empty.
	total := len(docs)
	from := min((page-1)*size, total)
	docs = docs[from:min(from+size, total)]
	out.Body = append(out.Body, `{"data":[`...)
	for _, doc := range docs {
		out.Body = picked.append(comma(out.Body), doc, appendRecord)
	}
	out.Body = wire.AppendInt(out.Body, `],"page":`, int64(page))
	out.Body = wire.AppendInt(out.Body, `,"pageSize":`, int64(size))
	out.Body = wire.AppendInt(out.Body, `,"count":`, int64(len(docs)))
	out.Body = append(wire.AppendInt(out.Body, `,"totalCount":`, int64(total)), '}')
	return nil
}

// query2docs finds the records that the parameter q means.
func query2docs(
	c *collection, request *api.Request, isPrice func(string) bool, priced prices,
) ([]uint32, *wire.APIError) {
	q, _ := request.Args.Given("q")
	root, err := parse(q, c.fields, isPrice)
	var docs []uint32
	if err == nil {
		docs, err = c.find(context.Background(), root, priced)
	}

	// An error in the query is returned to the caller.
	_, isWrong := errors.AsType[*queryError](err)
	_, isWide := errors.AsType[*refusal](err)
	switch {
	case isWrong || isWide:
		return nil, refuse(wire.InvalidRequest, "%s", err)
	case err != nil:
		return nil, refuse(wire.InternalError, "the search failed on our side: try again")
	}
	return docs, nil
}

// whole reads a parameter that is a whole number from 1 on. One above the limit is the limit, as there.
func whole(request *api.Request, name string, otherwise, limit int) (int, *wire.APIError) {
	text, given := request.Args.Given(name)
	if !given || text == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) && text[0] != '-' {
		return limit, nil
	}
	if err != nil || n < 1 {
		return 0, refuse(wire.InvalidRequest, "%s is a whole number from 1 on, not %s", name, api.QuoteInput(text))
	}
	return min(n, limit), nil
}

// names parts a parameter with commas; none for an empty one.
func names(request *api.Request, param string) ([]string, *wire.APIError) {
	text, _ := request.Args.Given(param)
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list := strings.Split(text, ",")
	if len(list) > maxNames {
		return nil, refuse(wire.InvalidRequest, "%s names %d fields at most", param, maxNames)
	}
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	return list, nil
}

// ordering reads orderBy.
func ordering(c *collection, request *api.Request, isPrice func(string) bool) (by []order, f *wire.APIError) {
	list, f := names(request, "orderBy")
	if f != nil {
		return nil, f
	}
	for _, name := range list {
		field, down := strings.CutPrefix(name, "-")
		_, known := c.fields[field]
		if !known && (isPrice == nil || !isPrice(field)) {
			return nil, refuse(wire.InvalidRequest, "orderBy: there is no field %s", api.QuoteInput(field))
		}
		by = append(by, order{field, down})
	}
	return by, nil
}

// picked are the requested members of a record; none for all.
type picked [][]string // of each, its path

func selection(request *api.Request) (picked, *wire.APIError) {
	list, f := names(request, "select")
	if f != nil {
		return nil, f
	}
	var wanted picked
	for _, name := range list {
		wanted = append(wanted, strings.Split(name, "."))
	}
	return wanted, nil
}

// append appends a record, or its requested members.
func (wanted picked) append(dst []byte, doc uint32, appendRecord func([]byte, uint32) []byte) []byte {
	if len(wanted) == 0 {
		return appendRecord(dst, doc)
	}
	return wanted.appendOf(dst, appendRecord(nil, doc))
}

// appendOf appends the wanted members of a value: of a list, those of each element.
func (wanted picked) appendOf(dst []byte, value jsonwalk.Value) []byte {
	switch value.Kind() {
	case '[':
		dst = append(dst, '[')
		for element := range value.Elements() {
			dst = wanted.appendOf(comma(dst), element)
		}
		return append(dst, ']')
	case '{':
	default:
		return append(dst, value...)
	}

	dst = append(dst, '{')
	for name, member := range value.Members() {
		// A member may be requested whole and in parts.
		var below picked
		whole := false
		for _, path := range wanted {
			if name.Is(path[0]) {
				whole = whole || len(path) == 1
				below = append(below, path[1:])
			}
		}
		if below == nil {
			continue
		}

		dst = append(append(comma(dst), name...), ':')
		if whole {
			dst = append(dst, member...)
		} else {
			dst = below.appendOf(dst, member)
		}
	}
	return append(dst, '}')
}
