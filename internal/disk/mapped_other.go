//go:build !linux

package disk

import (
	"errors"
	"os"
)

// mapFile is of Linux: elsewhere it is not known that what was copied into a mapping and synced by its
// file is on disk.
func mapFile(string) (File, error) { return nil, errors.ErrUnsupported }

// checkSpace is of Linux: elsewhere nobody asks how much room there is.
func checkSpace(*os.File, int64, int) error { return nil }
