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

// warnKeysWithoutPlan logs which keys are answered 503 because the plan of their tenant is not
// configured.
func (n *Node) warnKeysWithoutPlan() {
	for _, u := range n.ring.WithoutPlan(time.Now()) {
		n.Log.Warn("keys are answered 503: the plan of their tenant is not configured",
			slog.String("plan", u.Plan), slog.String("tenant", u.Tenant), slog.Any("keys", u.Keys))
	}
}

// eventLog logs what parts of a server tell of themselves: that something fails, and that it is over.
type eventLog struct{ log *slog.Logger }

// clockStepped logs that days, periods and expiry go by another time from now on.
func (r eventLog) clockStepped(by time.Duration) {
	r.log.Warn("the wall clock was set, and is followed", slog.Duration("by", by))
}

// keysChanged logs what became of a changed keys file. What cannot be read is told when it begins and
// when it is over, for as long as it lasts a revoked key may still work.
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

// meteringChanged logs what the store reports: that something fails, and that it is over. What fails
// is tried again by itself.
func (r eventLog) meteringChanged(err error) {
	switch {
	case err == nil:
		r.log.Info("metering has recovered")
	case errors.Is(err, statedir.ErrMoved):
		r.log.Error("metering is down: calls are answered 503 until the state directory is back at its path",
			slog.Any("cause", err))
	case errors.Is(err, state.ErrLogLost):
		r.log.Error("the metering log was removed under the server: what it held goes into a checkpoint now",
			slog.Any("cause", err))
	case errors.Is(err, access.ErrUnavailable):
		r.log.Error("metering is down: calls are answered 503 until the log can be written", slog.Any("cause", err))
	default:
		r.log.Error("no checkpoint can be written: the metering log grows until one can", slog.Any("cause", err))
	}
}

// certificateChanged logs what became of changed certificate files.
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

// notify sends lines to the service manager. A server does not fail because nobody listens to it.
func (n *Node) notify(lines ...string) {
	_, err := daemon.SdNotify(false, strings.TrimSpace(strings.Join(lines, "\n")))
	if err != nil {
		n.Log.Error("cannot notify the service manager", slog.Any("cause", err))
	}
}

// status is what the service manager shows of the server.
func (n *Node) status() string { return "STATUS=serving " + n.engine.View().ID }

// statusInterval is how often the service manager hears of a new snapshot.
const statusInterval = time.Second

// notifyLoop tells the service manager that requests are served and which snapshot it is. As long
// as the server answers itself, it also says that the server lives. Without a service manager it
// does nothing.
func (n *Node) notifyLoop(ctx context.Context) {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return
	}
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		n.Log.Error("the watchdog is off", slog.Any("cause", err))
	}

	// Both in one datagram: READY without a status would show the one of the start.
	reported := n.status()
	n.notify("READY=1", reported)

	// Twice in the time that the service manager waits, so that one late answer does no harm;
	// it never ticks for a manager that does not wait.
	watchdogTick := time.Tick(watchdog / 2)
	statusTick := time.Tick(statusInterval)
	check := selfCheck(n.Config.TLSCert != "", n.sockets.api.Addr())
	// due says that it is time for a sign of life. While the server does not answer, it is asked
	// again at each look.
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
			// Silence is the sign: the service manager restarts what does not answer.
			if err := check(ctx); err != nil {
				n.Log.Error("the server does not answer itself", slog.Any("cause", err))
				continue
			}
			due = false
			n.notify("WATCHDOG=1")
		}
	}
}

// selfCheck returns a function that asks the API for its health as a client would, on a connection
// of its own.
func selfCheck(encrypted bool, api net.Addr) func(context.Context) error {
	url := "http://" + Loopback(api.String()) + "/healthz"
	transport := &http.Transport{DisableKeepAlives: true}
	if encrypted {
		url = "https" + url[len("http"):]
		transport.TLSClientConfig = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // it asks itself by its address, which no certificate names
		}
	}

	return func(ctx context.Context) error { return CheckHealth(ctx, transport, url) }
}

// Loopback is where this machine reaches a listener that may listen on every address.
func Loopback(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		// A listener on every IPv6 address takes IPv4 as well, except where the system was told
		// otherwise.
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// healthTimeout is how long a server may take to say that it is healthy.
const healthTimeout = 5 * time.Second

// CheckHealth wants 200 from a URL.
func CheckHealth(ctx context.Context, transport *http.Transport, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}

	// A server that hangs accepts, and never answers.
	client := &http.Client{Transport: transport, Timeout: healthTimeout}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}

	// It was only read.
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)); err != nil {
		return err
	}
	// A redirect that was followed counts as its end.
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %d", url, resp.StatusCode)
	}
	return nil
}
