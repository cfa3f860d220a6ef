package feed

import (
	"context"

	"ninepocket/internal/disk"
)

// PullOn is Pull on another disk.
func PullOn(ctx context.Context, options Options, on disk.FS) (*Result, error) {
	options.disk = on
	return Pull(ctx, options)
}
