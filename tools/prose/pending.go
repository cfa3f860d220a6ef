package main

// pending are the groups that do not keep the rule yet.
var pending = map[string]bool{
	"clients/README.md":            true,
	"clients/go/README.md":         true,
	"clients/python/README.md":     true,
	"clients/typescript/README.md": true,
	"docs/CLIENTS.md":              true,
	"docs/MOVE-FROM.md":            true,
	"docs/NATIVE.md":               true,
}
