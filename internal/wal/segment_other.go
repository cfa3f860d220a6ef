//go:build !linux

package wal

import "errors"

// MapSegment is of Linux: elsewhere it is not known that what was copied into a mapping and synced
// by its file is on disk.
func MapSegment(string) (Segment, error) { return nil, errors.ErrUnsupported }
