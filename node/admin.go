package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
)

// adminHandler returns the handler of the admin listener.
func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) { readyz(n, w, r) })

	mux.HandleFunc("GET /-/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// The client may be gone.
		_ = term.JSON(w, n.describeSnapshot())
	})

	mux.HandleFunc("POST /-/reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := n.reloadAll(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("reloaded\n"))
	})
	mux.HandleFunc("POST /-/checkpoint", n.checkpoint)
	mux.Handle("GET /metrics", promhttp.HandlerFor(n.metrics(), promhttp.HandlerOpts{}))
	// This listener cannot be reached from outside, so profiles need no key.
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// readyz reports whether requests can be answered: all of them, or those of the API with ?for=api. A server
// without its Redis still serves pages; for the API another one may be well.
func readyz(n *Node, w http.ResponseWriter, r *http.Request) {
	purpose := r.URL.Query().Get("for")
	unmetered := n.limiter != nil && n.limiter.Unavailable() != nil
	why := n.notReady()
	if why == "" && unmetered && purpose == "api" {
		why = "metering: unavailable"
	}

	switch {
	case purpose != "" && purpose != "api":
		http.Error(w, "for takes api alone", http.StatusBadRequest)
	case why != "":
		http.Error(w, "not ready: "+why, http.StatusServiceUnavailable)
	default:
		_, _ = w.Write([]byte("ok\n"))
		if unmetered {
			_, _ = w.Write([]byte("metering: unavailable\n"))
		}
		if n.fleet != nil && n.fleet.keys.CopiedAt() != "" {
			_, _ = fmt.Fprintf(w, "keys: of %s, PostgreSQL does not answer\n", n.fleet.keys.CopiedAt())
		}
	}
}

// checkpoint writes a metering checkpoint at once; with ?rebuild=yes it writes a new file if the
// old one is lost.
func (n *Node) checkpoint(w http.ResponseWriter, r *http.Request) {
	if n.journal == nil {
		http.Error(w, "this server meters in memory", http.StatusNotFound)
		return
	}

	// Any other value is a mistake, and a new checkpoint gives up rows of the ledger.
	query := r.URL.Query()
	rebuild := query.Get("rebuild") == "yes" || query.Get("anew") == "yes"
	if !rebuild && (query.Has("rebuild") || query.Has("anew")) {
		http.Error(w, "rebuild takes yes alone, as its older name `anew` does", http.StatusBadRequest)
		return
	}

	movedTo, err := n.journal.Checkpoint(rebuild, time.Now())
	if movedTo != "" { // even if the new one could not be written yet
		n.Log.Warn("checkpoint file rebuilt by an operator", slog.String("moved_to", movedTo))
	}
	if err == nil {
		_, _ = w.Write([]byte("written\n"))
		return
	}
	hint := ""
	if !rebuild && errors.Is(err, access.ErrCorrupt) {
		hint = "\nPOST /-/checkpoint?rebuild=yes begins a new file with what is in memory: every account, but no " +
			"rows of the ledger from before"
	}
	http.Error(w, err.Error()+hint, http.StatusInternalServerError)
}

// notReady returns the reason why requests cannot be answered, "" if they can. /readyz, /healthz,
// the watchdog through that, and the metric metering_up all ask the store.
func (n *Node) notReady() string {
	if n.draining.Load() {
		return "draining"
	}
	if n.engine.View() == nil {
		return "no snapshot is loaded"
	}
	if err := n.store.Err(); err != nil {
		return "metering is down: " + err.Error()
	}
	return ""
}

// guardAdmin accepts requests whose Host names this listener, and from no page but its own. A page
// of another site, in a browser on this machine, may not use the browser to get here: not by a form
// (Origin), nor by a name that resolves to this address (Host).
func (n *Node) guardAdmin(next http.Handler) http.Handler {
	listen, _, _ := net.SplitHostPort(n.Config.Admin) // "" means every address
	if listen == "" {
		listen, _, _ = net.SplitHostPort(n.sockets.admin.Addr().String())
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		switch {
		case !isAdminHost(&n.Config, r.Host, listen):
			http.Error(w, "the Host header names another host; see admin_hosts", http.StatusForbidden)
		case origin != "" && origin != "http://"+r.Host:
			http.Error(w, "pages of other origins may not call", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// isAdminHost reports whether a Host header may name the admin listener. It may be an address,
// which a page cannot rebind, a name without a dot, which no other site has, or a configured name.
func isAdminHost(config *settings.Config, hostport, listen string) bool {
	// An IPv6 address alone has colons and no port.
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	host = strings.ToLower(host)

	_, notAddress := netip.ParseAddr(host)
	switch {
	case host == "":
		return false
	case notAddress == nil, !strings.Contains(host, "."), strings.HasSuffix(host, ".localhost"):
		return true
	}
	return strings.EqualFold(host, listen) ||
		slices.ContainsFunc(config.AdminHosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// snapshotStatus describes the current snapshot for an operator.
type snapshotStatus struct {
	SnapshotID string    `json:"snapshot_id"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Epoch      uint64    `json:"epoch"` // 0 for a fallback, see Degraded
	LiveSince  time.Time `json:"live_since"`
	Previous   string    `json:"previous,omitempty"` // served before
	Cards      int       `json:"cards"`
	Sets       int       `json:"sets"`
	Bytes      int64     `json:"bytes"`
	// The scheduled activation; absent if there is none.
	Prepared    string          `json:"prepared,omitempty"`
	PreparedAt  time.Time       `json:"prepared_at,omitzero"`
	Degraded    bool            `json:"degraded"`
	Behind      bool            `json:"behind"` // another snapshot is published than the served one
	Retired     int             `json:"retired"`
	LastFailure *publishFailure `json:"last_failure,omitempty"`
}

// publishFailure is the last release that was not served, or not at the first try.
type publishFailure struct {
	At         time.Time `json:"at"`
	SnapshotID string    `json:"snapshot_id,omitempty"`
	Epoch      uint64    `json:"epoch,omitempty"`
	Reason     string    `json:"reason"`
	Error      string    `json:"error"`
}

func (n *Node) describeSnapshot() snapshotStatus {
	v := n.engine.View()
	stats := n.engineStats(time.Now())
	out := snapshotStatus{
		SnapshotID: v.ID, SnapshotAt: time.UnixMilli(v.Catalog.SnapshotAt).UTC(), Epoch: stats.Epoch,
		LiveSince: stats.Live.UTC(), Previous: stats.Previous, Retired: stats.Retired, Bytes: v.Size(),
		Prepared: stats.Prepared, PreparedAt: stats.PreparedAt.UTC(),
		Cards: v.Catalog.Cards.ID.Len(), Sets: v.Catalog.Sets.ID.Len(), Degraded: stats.Degraded, Behind: stats.Behind,
	}

	// It stays after a successful release: an operator may look late.
	if failed := stats.LastFailure; failed != nil {
		out.LastFailure = &publishFailure{
			At: failed.At.UTC(), SnapshotID: failed.ID, Epoch: failed.Epoch, Reason: failed.Reason.String(),
			Error: failed.Err.Error(),
		}
	}
	return out
}

// reloadAll reloads settings, keys and the certificate, and checks the store again, as SIGHUP does.
func (n *Node) reloadAll() error {
	n.reloading.Lock()
	defer n.reloading.Unlock()
	err := n.reloadConfig()
	n.warnKeysWithoutPlan(true)
	err = errors.Join(err, n.engine.Retry(time.Now()))
	if err != nil {
		// Errors that reloadAll finds first are not logged by the watchers.
		n.Log.Error("cannot reload", slog.Any("cause", err))
	}
	return err
}

// reloadConfig applies what a running server can change: plans, keys and the certificate. An error
// in one of them does not prevent the others.
func (n *Node) reloadConfig() error {
	if n.Reread == nil {
		return nil
	}
	fresh, err := n.Reread()
	if err == nil {
		var changed keys.Plans
		changed, err = fresh.PlanTable()
		if err == nil {
			err = n.ring.SetPlans(changed)
		}
		err = errors.Join(err, reloadFleet(n, &fresh))
		// The log names settings that need a restart, or an operator would wait for them.
		if keys := n.Config.FixedChanges(&fresh); len(keys) > 0 {
			n.Log.Warn("settings wait for a restart", slog.Any("keys", keys))
		}
	}

	if n.access != nil {
		n.access.Reopen()
	}

	// Keys and the certificate, even if the configuration cannot be read.
	badKeys := n.ring.Reload()
	return errors.Join(err, badKeys, n.reloadCertificate())
}

// watchHangup reloads at each SIGHUP.
func (n *Node) watchHangup(ctx context.Context, hangups chan os.Signal) {
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			// The service manager must know when a reload begins and when it ends, even with an
			// error.
			n.notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec())
			status := servingStatus(n.engine)
			if n.reloadAll() != nil {
				status += "; the last reload failed"
			}

			n.notify("READY=1", status)
		}
	}
}
