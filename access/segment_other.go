//go:build !linux

package access

import "errors"

// mapSegment is of Linux: elsewhere it is not known that what was copied into a mapping and synced by its file is on disk.
func mapSegment(string) (segmentFile, error) { return nil, errors.ErrUnsupported }
