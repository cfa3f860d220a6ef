//go:build !man

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"ninepocket/node"
)

func main() {
	ctx, stop := untilSignal()
	node.LimitMemory(memlimit.FromCgroup)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// untilSignal returns a context that ends with the first SIGINT or SIGTERM, which drains. Before
// that, signals get their usual effect again, so that a second one ends the process at once.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())

	// Two, because a second signal may come before the first is handled.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		signal.Stop(signals)
		select {
		case second := <-signals:
			if s, ok := second.(syscall.Signal); ok {
				_ = syscall.Kill(os.Getpid(), s)
			}
		default:
		}
		cancel()
	}()
	return ctx, cancel
}
