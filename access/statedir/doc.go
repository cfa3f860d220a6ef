// Package statedir is the layout of a state directory: the names of its files, their owner, its
// lock, and its server id. It reports usage under this id.
package statedir
