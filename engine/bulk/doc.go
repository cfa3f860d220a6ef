// Package bulk makes the files that hold the whole catalog of a View, and stores them in a folder.
//
// Each snapshot has its own folder, which is put in place whole: the files of [Names], and a manifest with
// the length, the rows and the SHA-256 of each. Equal Views of one version of the program have equal files.
package bulk
