//go:build !hunt

package bench

import (
	"reflect"
	"testing"

	"ninepocket/index"
)

// forgets: a build without the tag hunt is the program as it runs, which drops nothing that
// searches remember.
const clearsCache = false

func (w *world) clearCache() {}

// TestIndexHasNoClearCache wants the program itself to have no way to forget: it would be there for
// the hunt alone.
func TestIndexHasNoClearCache(t *testing.T) {
	if _, has := reflect.TypeFor[*index.Index]().MethodByName("ClearCache"); has {
		t.Error("the index has a method that only measurements call")
	}
}
