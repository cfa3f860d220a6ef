package node

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"ninepocket/access"
	"ninepocket/access/state"
	"ninepocket/access/statedir"
)

// warnKeysWithoutPlan logs the keys that get 503 because the plan of their tenant is not
// configured.
func (n *Node) warnKeysWithoutPlan() {
	for _, u := range n.ring.WithoutPlan(time.Now()) {
		n.Log.Warn("keys are answered 503: the plan of their tenant is not configured",
			slog.String("plan", u.Plan), slog.String("tenant", u.Tenant), slog.Any("keys", u.Keys))
	}
}

// eventLog logs when a part of a server begins to fail, and when it has recovered.
type eventLog struct{ log *slog.Logger }

// clockStepped logs that days, periods and expiry follow another time from now on.
func (events eventLog) clockStepped(by time.Duration) {
	events.log.Warn("the wall clock was set, and is followed", slog.Duration("by", by))
}

// keysChanged logs a changed keys file. An unreadable file is logged when that begins and when it
// ends, because until then a revoked key may still work.
func (n *Node) keysChanged(changed bool, err error) {
	if changed {
		n.Log.Info("keys changed")
		n.warnKeysWithoutPlan()
	}
	switch {
	case err != nil:
		n.Log.Error("cannot re-read keys: the previous ones stay in force, and no revocation is heard of",
			slog.Any("cause", err))
	case !changed:
		n.Log.Info("keys can be read again")
	}
}

// meteringChanged logs that the store fails, or that it has recovered. The store retries by itself.
func (events eventLog) meteringChanged(err error) {
	switch {
	case err == nil:
		events.log.Info("metering has recovered")
	case errors.Is(err, statedir.ErrMoved):
		events.log.Error("metering is down: calls are answered 503 until the state directory is back at its path",
			slog.Any("cause", err))
	case errors.Is(err, state.ErrLogLost):
		events.log.Error("the metering log was removed under the server: what it held goes into a checkpoint now",
			slog.Any("cause", err))
	case errors.Is(err, access.ErrUnavailable):
		events.log.Error("metering is down: calls are answered 503 until the log can be written",
			slog.Any("cause", err))
	default:
		events.log.Error("no checkpoint can be written: the metering log grows until one can", slog.Any("cause", err))
	}
}

// certificateChanged logs the result of loading changed certificate files.
func (n *Node) certificateChanged(err error) {
	if err != nil {
		n.Log.Error("cannot take the new certificate, the old one stays", slog.Any("cause", err),
			slog.Time("expires_at", n.cert.Expires()))
		return
	}
	n.Log.Info("certificate changed", slog.Time("expires_at", n.cert.Expires()))
}

// reloadCertificate reads the certificate's files again, if there are any.
func (n *Node) reloadCertificate() error {
	if n.cert == nil {
		return nil
	}

	err := n.cert.Reload()
	if err == nil {
		n.certificateChanged(nil)
	}
	return err
}

// notify sends lines to the service manager. An error is logged, and the server continues.
func (n *Node) notify(lines ...string) {
	_, err := daemon.SdNotify(false, strings.TrimSpace(strings.Join(lines, "\n")))
	if err != nil {
		n.Log.Error("cannot notify the service manager", slog.Any("cause", err))
	}
}

// status is the status that the service manager shows.
func (n *Node) status() string { return "STATUS=serving " + n.engine.View().ID }

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
	reported := n.status()
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
			if now := n.status(); now != reported {
				reported = now
				n.notify(reported)
			}
		case <-watchdogTick:
			due = true
		}

		if due {
			// Without the signal the service manager restarts the server.
			if err := check(ctx); err != nil {
				n.Log.Error("the server does not answer itself", slog.Any("cause", err))
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
