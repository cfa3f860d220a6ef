// Package faults is a proxy that makes faults between a client and a server. Its test holds the
// clients of all languages to one table of faults.
package faults
