package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ninepocket/engine"
)

// notify sends lines to the service manager. An error is logged, and the server continues.
func (n *Node) notify(lines ...string) {
	_, err := daemon.SdNotify(false, strings.TrimSpace(strings.Join(lines, "\n")))
	if err != nil {
		n.Log.Error("cannot notify the service manager", slog.Any("cause", err))
	}
}

// servingStatus is the status that the service manager shows.
func servingStatus(from *engine.Engine) string { return "STATUS=serving " + from.View().ID }

// statusInterval is the time between two checks for a new status.
const statusInterval = time.Second

// notifyLoop notifies the service manager that requests are served, and of which snapshot. While
// the server answers its own health check, it also sends the watchdog signal. Without a service
// manager it does nothing.
func (n *Node) notifyLoop(ctx context.Context) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.Log.Error("the watchdog is off", slog.Any("cause", err))
	}

	// Both in one datagram: READY alone would leave the status of the start.
	reported := servingStatus(n.engine)
	n.notify("READY=1", reported)

	// Twice in the watchdog's time, so that one late answer does no harm; it never ticks without a
	// watchdog.
	watchdogTick := time.Tick(watchdog / 2)
	statusTick := time.Tick(statusInterval)
	check := selfCheck(n.Config.TLSCert != "", n.sockets.api.Addr())
	// due means that the watchdog signal must be sent. While the server does not answer, it is
	// checked again at each tick.
	due := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-statusTick:
			if now := servingStatus(n.engine); now != reported {
				reported = now
				n.notify(reported)
			}
		case <-watchdogTick:
			due = true
		}

		if due {
			// Without the signal the service manager restarts the server.
			if err := check(ctx); err != nil {
				n.Log.Error("watchdog: own /healthz request failed", slog.Any("cause", err))
				continue
			}
			due = false
			n.notify("WATCHDOG=1")
		}
	}
}

// selfCheck returns a function that checks the health of the API as a client would, on a new
// connection.
func selfCheck(encrypted bool, api net.Addr) func(context.Context) error {
	url := "http://" + Loopback(api.String()) + "/healthz"
	transport := &http.Transport{DisableKeepAlives: true}
	if encrypted {
		url = "https" + url[len("http"):]
		transport.TLSClientConfig = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // it connects to its own address, which no certificate names
		}
	}

	return func(ctx context.Context) error { return CheckHealth(ctx, transport, url) }
}

// Loopback returns the address at which this machine reaches a listener that may listen on every
// address.
func Loopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		// A listener on every IPv6 address takes IPv4 as well, unless the system is configured
		// otherwise.
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// healthTimeout is how long a health check may take.
const healthTimeout = 5 * time.Second

// CheckHealth returns an error unless a URL answers 200.
func CheckHealth(ctx context.Context, transport *http.Transport, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}

	// A server that hangs accepts connections, and never answers.
	client := &http.Client{Transport: transport, Timeout: healthTimeout}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}

	// Only read.
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	// After a redirect, the last status counts.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", url, resp.StatusCode)
	}
	return nil
}
