//go:build !linux

package throttle

import "time"

func sleep(d time.Duration) { time.Sleep(d) }
