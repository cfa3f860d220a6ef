//go:build !hunt

package bench

import (
	"reflect"
	"testing"

	"ninepocket/index"
)

// clearsCache is false: a build without the tag hunt is the real program, which cannot clear the
// caches of searches.
const clearsCache = false

func (w *world) clearCache() {}

// TestIndexHasNoClearCache checks that the program has no method to clear caches: only the hunt
// would need it.
func TestIndexHasNoClearCache(t *testing.T) {
	if _, has := reflect.TypeFor[*index.Index]().MethodByName("ClearCache"); has {
		t.Error("the index has a method that only measurements call")
	}
}
