//go:build !linux

package pace

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
