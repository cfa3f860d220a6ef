package s3test

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Model is a store in this process. It does not check signatures.
type Model struct {
	*Store

	mu               sync.Mutex
	objects          map[string][]byte // by bucket and name
	ignoreConditions bool
	written          time.Time // when each object was written, zero for not known
}

// Written makes the model say when all objects were written.
func (m *Model) Written(at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written = at
}

// Start starts a model.
func Start(tb testing.TB) *Model {
	tb.Helper()
	m := &Model{objects: map[string][]byte{}}
	m.Store = begin(tb, m)
	return m
}

// IgnoreConditions makes the model ignore the conditions of writes, as some stores do.
func (m *Model) IgnoreConditions(ignore bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ignoreConditions = ignore
}

// Get returns an object, nil if there is none.
func (m *Model) Get(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.objects[Bucket+"/"+name]
}

// Put replaces an object; nil removes it.
func (m *Model) Put(name string, content []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if content == nil {
		delete(m.objects, Bucket+"/"+name)
		return
	}
	m.objects[Bucket+"/"+name] = content
}

// Names lists the objects, ascending.
func (m *Model) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.objects {
		names = append(names, strings.TrimPrefix(name, Bucket+"/"))
	}
	slices.Sort(names)
	return names
}

func tag(content []byte) string {
	sum := md5.Sum(content)
	return `"` + hex.EncodeToString(sum[:]) + `"`
}

func itoa(n int) string { return strconv.Itoa(n) }

func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if r.Method == http.MethodGet && r.URL.Query().Get("list-type") == "2" {
		m.list(w, r)
		return
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	m.mu.Lock()
	content, found := m.objects[name]
	status, answered := m.answer(r, name, body, content, found)
	written := m.written
	m.mu.Unlock()

	w.Header().Set("ETag", tag(answered))
	switch {
	case status == http.StatusNotFound:
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", "NoSuchKey")
	case r.Method == http.MethodGet && status == http.StatusOK:
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(answered))
	case r.Method == http.MethodHead && status == http.StatusOK:
		w.Header().Set("Content-Length", itoa(len(answered)))
		if !written.IsZero() {
			w.Header().Set("Last-Modified", written.UTC().Format(http.TimeFormat))
		}
		w.WriteHeader(status)
	default:
		w.WriteHeader(status)
	}
}

// answer runs a request, and returns the object that the response is about.
func (m *Model) answer(r *http.Request, name string, body, content []byte, found bool) (status int, about []byte) {
	match := r.Header.Get("If-Match")
	none := r.Header.Get("If-None-Match")

	switch r.Method {
	case http.MethodPut:
		refused := none == "*" && found || match != "" && (!found || match != tag(content))
		if refused && !m.ignoreConditions {
			return http.StatusPreconditionFailed, content
		}
		m.objects[name] = body
		return http.StatusOK, body
	case http.MethodDelete:
		delete(m.objects, name)
		return http.StatusNoContent, nil
	case http.MethodGet, http.MethodHead:
		if !found {
			return http.StatusNotFound, nil
		}
		return http.StatusOK, content
	}
	return http.StatusNotImplemented, nil
}

// list returns all objects as one page.
func (m *Model) list(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	bucket := strings.Trim(r.URL.Path, "/") + "/"
	w.Header().Set("Content-Type", "application/xml")
	fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated>")
	for _, name := range slices.Sorted(maps.Keys(m.objects)) {
		key, ours := strings.CutPrefix(name, bucket)
		asked := r.URL.Query()
		if ours && strings.HasPrefix(key, asked.Get("prefix")) && key > asked.Get("start-after") {
			fmt.Fprintf(w, "<Contents><Key>%s</Key></Contents>", key)
		}
	}
	fmt.Fprint(w, "</ListBucketResult>")
}
