// Command demo runs a whole fleet on this machine until it is interrupted: see docs/FLEET.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"ninepocket/deploy/fleet"
	"ninepocket/internal/synth"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		stop()
		os.Exit(1)
	}
}

// options are the options of a demo.
type options struct {
	fleet.Options
	cards int
	every time.Duration
}

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.Binary, "binary", "bin/ninepocket", "the `PROGRAM`")
	flag.StringVar(&o.Listen, "listen", "127.0.0.1:8080", "`ADDRESS` of the proxy")
	flag.IntVar(&o.cards, "cards", 2000, "cards of the synthetic catalog")
	flag.DurationVar(&o.every, "publish-every", 2*time.Minute, "`TIME` between two publications")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see --help", flag.Arg(0))
	}
	if o.every < time.Second {
		return errors.New("cannot publish more often than once a second")
	}

	if err := fleet.Missing(); err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "ninepocket-fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	o.Folder = folder
	o.Catalog = filepath.Join(folder, "day")
	return demo(ctx, &o)
}

// demo starts a fleet and publishes a day after the other until it is interrupted.
func demo(ctx context.Context, o *options) error {
	fmt.Println("starting redis with two replicas and three sentinels, postgresql, versitygw, three servers, haproxy …")
	if err := day(o, 0); err != nil {
		return err
	}
	running, err := fleet.Start(ctx, o.Options)
	if err != nil {
		return err
	}
	defer running.Stop()
	key, err := running.CreateKey(ctx, "visitor", "live", "starter")
	if err != nil {
		return err
	}

	printUsage(running, key, o.every)
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			fmt.Println("stopping")
			return nil
		case <-time.After(o.every):
		}
		err := day(o, n)
		if err == nil {
			err = running.Publish(ctx, o.Catalog, "20s")
		}
		if err != nil && ctx.Err() == nil {
			fmt.Fprintln(os.Stderr, "cannot publish the next day:", err)
			continue
		}
		fmt.Printf("day %d is pushed: all servers begin with it in 20 s\n", n)
	}
}

// day writes the catalog of a day.
func day(o *options, n int) error {
	if err := os.RemoveAll(o.Catalog); err != nil {
		return err
	}
	first := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -30)
	return synth.Write(o.Catalog, synth.Options{Cards: o.cards, HistoryDays: 30, SnapshotAt: first, Day: n})
}

// printUsage prints commands to try.
func printUsage(running *fleet.Fleet, key string, every time.Duration) {
	fmt.Printf("\nA fleet of three servers is ready. Try this, as often as you like:\n\n"+
		"  curl -H 'X-API-Key: %s' '%s/v1/cards?limit=3'\n\n", key, running.BaseURL)
	for _, name := range fleet.Servers {
		fmt.Printf("  %s  http://%s  admin http://%s/metrics\n", name, running.Places[name],
			running.Places[name+"/admin"])
	}
	fmt.Printf("\nA day is published every %s. Ctrl-C ends everything.\n\n", every)
}
