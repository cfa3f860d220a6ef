package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"ninepocket/access/statedir"
	"ninepocket/internal/door"
	"ninepocket/internal/systemd"
)

// writeBuffer is what the system may keep of answers that a client does not take: the least with
// which large answers leave as fast as without a bound (decision 1702 has the figures). Linux
// doubles it for its own needs: a client that reads nothing takes 0.3 MB instead of 4.
const writeBuffer = 128 << 10

// handoverTime is how long a server that was given its socket waits for the one before it to give
// up the state directory: that one's whole drain, and as long again.
const handoverTime = 2 * (drainTime + longestLead)

// handoverPoll is how often it looks.
const handoverPoll = 20 * time.Millisecond

// sockets are the listeners of a server; admin is nil as long as nobody listens.
type sockets struct {
	api, admin net.Listener
	given      bool // the service manager gave them: clients wait in them while nobody accepts
}

// adminSocket is the name by which a service manager gives the socket of the admin listener.
const adminSocket = "admin"

// sockets takes what the service manager gives, and binds the rest; port 0 picks free ones. The
// admin address is left for later when the server before may have it still.
func (c *config) sockets() (sockets, error) {
	given, err := systemd.Sockets()
	if err != nil {
		return sockets{}, err
	}

	var all sockets
	for _, socket := range given {
		switch {
		case socket.Name == adminSocket && all.admin == nil:
			all.admin = socket.Listener
		case socket.Name != adminSocket && all.api == nil:
			all.api = socket.Listener
			all.given = true
		default:
			return sockets{}, fmt.Errorf(
				"cannot use the passed socket %q: want one for the API, and one named %s at most", socket.Name,
				adminSocket)
		}
	}
	if all.given {
		return all, nil
	}

	all.api, err = net.Listen("tcp", c.Listen)
	if err != nil {
		return sockets{}, fmt.Errorf("cannot listen on %q: %w", c.Listen, err)
	}
	if err := c.listenAdmin(&all); err != nil {
		// Nobody will serve what was opened first.
		return sockets{}, errors.Join(err, all.api.Close())
	}
	return all, nil
}

// listenAdmin binds the admin address unless there is a listener already.
func (c *config) listenAdmin(all *sockets) (err error) {
	if all.admin != nil {
		return nil
	}

	all.admin, err = net.Listen("tcp", c.Admin)
	if err != nil {
		return fmt.Errorf("cannot listen on %q for administration: %w", c.Admin, err)
	}
	return nil
}

// behindDoors returns the listeners behind their doors; TLS, where there is some, is above the
// API's.
func (s *service) behindDoors(all sockets) (api, admin net.Listener, err error) {
	proxies, err := s.config.trustedProxies()
	if err != nil {
		return nil, nil, err
	}

	s.door = door.New(s.config.doorOptions(proxies, door.Room(), s.log))
	api = s.door.Listen(all.api)
	if s.cert != nil {
		api = tls.NewListener(api, s.cert.Config())
	}
	adminLog := s.log.With(slog.String("listener", "admin"))
	return api, door.New(door.Options{Most: door.AdminMost, Log: adminLog}).Listen(all.admin), nil
}

// doorOptions are the bounds of the API's connections, where the process has descriptors for room.
func (c *config) doorOptions(proxies []netip.Prefix, room int, log *slog.Logger) door.Options {
	most := c.MaxConnections
	if most == 0 {
		most = room
	}
	if most > room {
		log.Warn("max_connections is more than the descriptors allow", slog.Int("max_connections", most),
			slog.Int("allowed", room))
		most = room
	}

	each := c.MaxConnectionsPerAddress
	if each == 0 {
		each = max(most/perAddress, 1)
	}
	return door.Options{
		Most: most, Each: each, WriteBuffer: writeBuffer, Log: log.With(slog.String("listener", "api")),
		Exempt: func(a netip.Addr) bool {
			return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
		},
	}
}

// perAddress is the share of all connections that one address may have: a quarter, so that it takes
// several to keep others out, and a proxy that nobody named has plenty.
const perAddress = 4

// openStateInTurn opens the state directory. A server that was given its socket replaces another
// one, for which it waits; all others fail at once.
func (s *service) openStateInTurn(ctx context.Context, given bool) error {
	begun := time.Now()
	for waiting := false; ; waiting = true {
		err := s.openState(ctx, time.Now())
		if err == nil || !given || !errors.Is(err, statedir.ErrLocked) || time.Since(begun) > handoverTime {
			return err
		}

		// Told once: this is when the server before may be ended.
		if !waiting {
			s.log.Info("waiting for the state directory")
			s.tell("STATUS=waiting for the state directory")
		}
		select {
		case <-time.After(handoverPoll):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}
