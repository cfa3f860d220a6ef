package main

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"time"

	"ninepocket/internal/certificate"
	"ninepocket/internal/settings"
)

// certificate opens the certificate of the API, nil for plain HTTP.
func openCertificate(c *settings.Config) (*certificate.Certificate, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	return certificate.Open(c.TLSCert, c.TLSKey)
}

// warnUnusable logs which keys are answered 503 because the plan of their tenant is not configured.
func (s *service) warnUnusable() {
	for _, u := range s.ring.Unusable(time.Now()) {
		s.log.Warn("keys are answered 503: the plan of their tenant is not configured",
			slog.String("plan", u.Plan), slog.String("tenant", u.Tenant), slog.Any("keys", u.Keys))
	}
}

// clockStepped logs that days, periods and expiry go by another time from now on.
func (s *service) clockStepped(by time.Duration) {
	s.log.Warn("the wall clock was set, and is followed", slog.Duration("by", by))
}

// keysChanged logs what became of a changed keys file. What cannot be read is told when it begins and
// when it is over, for as long as it lasts a revoked key may still work.
func (s *service) keysChanged(changed bool, err error) {
	if changed {
		s.log.Info("keys changed")
		s.warnUnusable()
	}
	switch {
	case err != nil:
		s.log.Error("cannot re-read keys: those of before stay in force, and no revocation is heard of",
			slog.Any("cause", err))
	case !changed:
		s.log.Info("keys can be read again")
	}
}

// renewed logs what became of changed certificate files.
func (s *service) renewed(err error) {
	if err != nil {
		s.log.Error("cannot take the new certificate, the old one stays", slog.Any("cause", err),
			slog.Time("expires_at", s.cert.Expires()))
		return
	}
	s.log.Info("certificate changed", slog.Time("expires_at", s.cert.Expires()))
}

// reloadCertificate reads the certificate's files again, if there are any.
func (s *service) reloadCertificate() error {
	if s.cert == nil {
		return nil
	}

	err := s.cert.Reload()
	if err == nil {
		s.renewed(nil)
	}
	return err
}

// tell sends lines to the service manager. A server does not fail because nobody listens to it.
func (s *service) tell(lines ...string) {
	if err := s.notify.Send(lines...); err != nil {
		s.log.Error("cannot notify the service manager", slog.Any("cause", err))
	}
}

// status is what the service manager shows of the server.
func (s *service) status() string { return "STATUS=serving " + s.engine.View().ID }

// statusEvery is how often the service manager hears of a new snapshot.
const statusEvery = time.Second

// keepNotified tells the service manager that requests are served and which snapshot it is. As long
// as the server answers itself, it also says that the server lives. Without a service manager it
// does nothing.
func (s *service) keepNotified(ctx context.Context, api net.Addr) {
	if s.notify == nil {
		return
	}

	told := s.status()
	s.tell("READY=1", told)

	// Twice in the time that the service manager waits, so that one late answer does no harm;
	// it never ticks for a manager that does not wait.
	alive := time.Tick(s.notify.Watchdog / 2)
	look := time.Tick(statusEvery)
	check := selfCheck(s.config.TLSCert != "", api)
	// due says that it is time for a sign of life. While the server does not answer, it is asked
	// again at each look.
	due := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-look:
			if now := s.status(); now != told {
				told = now
				s.tell(told)
			}
		case <-alive:
			due = true
		}

		if due {
			// Silence is the sign: the service manager restarts what does not answer.
			if err := check(ctx); err != nil {
				s.log.Error("the server does not answer itself", slog.Any("cause", err))
				continue
			}
			due = false
			s.tell("WATCHDOG=1")
		}
	}
}

// selfCheck returns a function that asks the API for its health as a client would, on a connection
// of its own.
func selfCheck(encrypted bool, api net.Addr) func(context.Context) error {
	url := "http://" + loopback(api.String()) + "/healthz"
	transport := &http.Transport{DisableKeepAlives: true}
	if encrypted {
		url = "https" + url[len("http"):]
		transport.TLSClientConfig = &tls.Config{
			MinVersion:         tls.VersionTLS12,
			InsecureSkipVerify: true, //nolint:gosec // it asks itself by its address, which no certificate names
		}
	}

	return func(ctx context.Context) error { return checkHealth(ctx, transport, url) }
}

// loopback is where this machine reaches a listener that may listen on every address.
func loopback(address string) string {
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
