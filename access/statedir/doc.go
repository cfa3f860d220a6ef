// Package statedir is the layout of a state directory: the names of its files, their owner, its lock,
// and its incarnation, the name under which it reports usage.
package statedir
