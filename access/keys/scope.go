package keys

import (
	"fmt"
	"slices"
)

// Scope is a set of the preview surface's scopes.
type Scope uint8

const (
	// CatalogRead opens products.
	CatalogRead Scope = 1 << iota
	// PricesRead opens batch prices.
	PricesRead
	// UsageRead opens usage.
	UsageRead
	// AllScopes is every scope.
	AllScopes = CatalogRead | PricesRead | UsageRead
)

var scopeNames = []string{"catalog:read", "prices:read", "usage:read"}

// ParseScopes parses scope names; unknown names are an error.
func ParseScopes(names []string) (Scope, error) {
	var set Scope
	for _, name := range names {
		i := slices.Index(scopeNames, name)
		if i < 0 {
			return 0, fmt.Errorf("cannot read scope %q: want catalog:read, prices:read or usage:read", name)
		}
		set |= 1 << i
	}
	return set, nil
}

// Names returns the names of the scopes in the set.
func (scope Scope) Names() []string {
	names := []string{}
	for i, name := range scopeNames {
		if scope&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}
