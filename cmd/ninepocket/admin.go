package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"ninepocket/internal/systemd"
)

// adminHandler answers the admin listener (contract, serve).
func (s *service) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.engine.View() == nil || s.store.Err() != nil {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /-/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = printJSON(w, s.describe())
	})
	mux.HandleFunc("POST /-/reload", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.reloadAll(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write([]byte("reloaded\n"))
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics(), promhttp.HandlerOpts{}))
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// served describes the current snapshot to an operator.
type served struct {
	SnapshotID string    `json:"snapshot_id"`
	SnapshotAt time.Time `json:"snapshot_at"`
	Cards      int       `json:"cards"`
	Sets       int       `json:"sets"`
	Bytes      int64     `json:"bytes"`
	Degraded   bool      `json:"degraded"`
}

func (s *service) describe() served {
	v := s.engine.View()
	return served{
		SnapshotID: v.ID, SnapshotAt: time.UnixMilli(v.Catalog.SnapshotAt).UTC(), Cards: v.Catalog.Cards.ID.Len(),
		Sets: v.Catalog.Sets.ID.Len(), Bytes: v.Size(), Degraded: s.engine.Degraded.Load(),
	}
}

// metrics are the process's own and those of the snapshot.
func (s *service) metrics() *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	gauge := func(name, help string, value func() float64) {
		r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: "ninepocket", Name: name, Help: help}, value))
	}
	gauge("snapshot_timestamp_seconds", "The instant that the served snapshot describes.",
		func() float64 { return float64(s.engine.View().Catalog.SnapshotAt) / 1000 })
	gauge("snapshot_cards", "Cards in the served snapshot.", func() float64 { return float64(s.engine.View().Catalog.Cards.ID.Len()) })
	gauge("degraded", "1 when an earlier snapshot is served because the published one is damaged.", func() float64 {
		if s.engine.Degraded.Load() {
			return 1
		}
		return 0
	})
	return r
}

// reloadAll re-reads keys, plans and the certificate and re-checks the store, as SIGHUP does.
func (s *service) reloadAll() error {
	if err := s.reload(); err != nil {
		return err
	}
	return s.engine.Recheck(time.Now())
}

// listenHangup takes SIGHUP over from now on, before anyone is told that it may be sent.
func listenHangup() chan os.Signal {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	return hangups
}

func (s *service) watchHangup(ctx context.Context, hangups chan os.Signal) error {
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-hangups:
			s.tell(systemd.Reloading())
			status := s.status()
			if err := s.reloadAll(); err != nil {
				s.log.Error("cannot reload", slog.Any("cause", err))
				status += "; the last reload failed"
			}
			s.tell("READY=1", status)
		}
	}
}
