//go:build !hunt

package bench

import (
	"reflect"
	"testing"

	"ninepocket/index"
)

// forgets: a build without the tag hunt is the program as it runs, which drops nothing that
// searches remember.
const forgets = false

func (w *world) forget() {}

// TestNothingIsForgotten wants the program itself to have no way to forget: it would be there for
// the hunt alone.
func TestNothingIsForgotten(t *testing.T) {
	if _, has := reflect.TypeFor[*index.Index]().MethodByName("ClearCache"); has {
		t.Error("the index has a method that only measurements call")
	}
}
