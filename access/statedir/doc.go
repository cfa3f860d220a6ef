// Package statedir is a state directory as a place: the names of its files, who they belong to, who has
// locked it, and its name among those that report to one ledger.
package statedir
