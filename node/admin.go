package node

import (
	"context"
	"errors"
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

// adminHandler answers the admin listener.
func (n *Node) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := n.notReady(); why != "" {
			http.Error(w, "not ready: "+why, http.StatusServiceUnavailable)
			return
		}
		// A server is ready all the same: all of them would leave a balancer at once.
		_, _ = w.Write([]byte("ok\n"))
		if n.limiter != nil && n.limiter.Unavailable() != nil {
			_, _ = w.Write([]byte("metering: unavailable\n"))
		}
	})

	mux.HandleFunc("GET /-/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		// Who asked may have gone.
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
	// Profiles are for whoever may reach this listener, which is nobody from outside.
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// checkpoint writes a metering checkpoint at once, with ?rebuild=yes into a new file where the old
// one is lost.
func (n *Node) checkpoint(w http.ResponseWriter, r *http.Request) {
	embedded := n.journal
	if embedded == nil {
		http.Error(w, "this server meters in memory", http.StatusNotFound)
		return
	}

	// Anything but yes is a slip, and a new checkpoint gives up rows of the ledger.
	query := r.URL.Query()
	rebuild := query.Get("rebuild") == "yes" || query.Get("anew") == "yes"
	if !rebuild && (query.Has("rebuild") || query.Has("anew")) {
		http.Error(w, "rebuild takes yes alone, as its older name anew does", http.StatusBadRequest)
		return
	}

	movedTo, err := embedded.Checkpoint(rebuild, time.Now())
	if movedTo != "" { // also where the new one could not be written yet
		n.Log.Warn("the checkpoint is rebuilt", slog.String("moved_to", movedTo))
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

// notReady says why requests cannot be answered, "" when they can. /readyz, /healthz, the watchdog by
// way of that, and the metric metering_up all ask the store.
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

// guardAdmin lets in requests that name this listener as it is reached, and those of no page but
// its own. A browser on this machine opens pages of other sites, which may not use it to get here:
// not by a form (Origin), nor by a name that leads here (Host).
func (n *Node) guardAdmin(next http.Handler) http.Handler {
	listen, _, _ := net.SplitHostPort(n.Config.Admin) // "" for every address
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

// isAdminHost reports whether a Host header may name the admin listener: by an address, which no
// page can have made lead here; by a name without a dot, which no other site has; or by a name that
// was configured.
func isAdminHost(config *settings.Config, hostport, listen string) bool {
	// An address of IPv6 alone has colons and no port.
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

// snapshotStatus describes the current snapshot to an operator.
type snapshotStatus struct {
	SnapshotID string    `json:"snapshot_id"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Epoch      uint64    `json:"epoch"` // 0 at a fallback, see degraded
	LiveSince  time.Time `json:"live_since"`
	Previous   string    `json:"previous,omitempty"` // what was served before
	Cards      int       `json:"cards"`
	Sets       int       `json:"sets"`
	Bytes      int64     `json:"bytes"`
	// What begins next, and when; absent while nothing waits for its time.
	Prepared    string          `json:"prepared,omitempty"`
	PreparedAt  time.Time       `json:"prepared_at,omitzero"`
	Degraded    bool            `json:"degraded"`
	Behind      bool            `json:"behind"` // another snapshot is published than is served
	Retired     int             `json:"retired"`
	LastFailure *publishFailure `json:"last_failure,omitempty"`
}

// publishFailure is the last publication that was not served, or not at the first try.
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

	// Kept after a publication went well: an operator may ask late.
	if failed := stats.LastFailure; failed != nil {
		out.LastFailure = &publishFailure{
			At: failed.At.UTC(), SnapshotID: failed.ID, Epoch: failed.Epoch, Reason: failed.Reason.String(),
			Error: failed.Err.Error(),
		}
	}
	return out
}

// reloadAll takes over keys, plans and the certificate, and re-checks the store, as SIGHUP does.
func (n *Node) reloadAll() error {
	err := n.reloadConfig()
	n.warnKeysWithoutPlan()
	err = errors.Join(err, n.engine.Retry(time.Now()))
	if err != nil {
		// What it is the first to find is remembered, and said by nobody else.
		n.Log.Error("cannot reload", slog.Any("cause", err))
	}
	return err
}

// reloadConfig takes over what a running server can: plans, keys and the certificate. What is wrong
// with one of them keeps none of the others back.
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
		// What a running server cannot take over is named, or an operator would wait for it.
		if keys := n.Config.FixedChanges(&fresh); len(keys) > 0 {
			n.Log.Warn("settings wait for a restart", slog.Any("keys", keys))
		}
	}

	if n.access != nil {
		n.access.Reopen()
	}

	// Also when the configuration cannot be read.
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
			// The service manager wants to know when it begins and when it is over, good or bad.
			n.notify(daemon.SdNotifyReloading, daemon.SdNotifyMonotonicUsec())
			status := n.status()
			if n.reloadAll() != nil {
				status += "; the last reload failed"
			}

			n.notify("READY=1", status)
		}
	}
}
