//go:build !linux

package disk

import (
	"errors"
	"os"
)

// mapFile is only for Linux: elsewhere it is not known whether the sync of a file also writes what was
// copied into its mapping.
func mapFile(string) (File, error) { return nil, errors.ErrUnsupported }

// checkSpace is only for Linux: elsewhere the free space is not checked.
func checkSpace(*os.File, int64, int) error { return nil }
