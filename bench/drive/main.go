// Command drive measures our own server over loopback and compares it with bare ones; `make
// bench-loop` and `make bench-swap` run it.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"ninepocket/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := bench.Command().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench/drive: %v\n", err)
		os.Exit(1)
	}
}
