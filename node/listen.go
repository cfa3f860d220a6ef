package node

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"slices"

	"github.com/coreos/go-systemd/v22/activation"

	"ninepocket/internal/connlimit"
	"ninepocket/internal/settings"
)

// writeBuffer is the socket's send buffer for a client that does not read. It is the smallest size
// that does not slow large responses (decision 1702 has the measurements). Linux doubles it: a
// client that reads nothing takes 0.3 MB instead of 4.
const writeBuffer = 128 << 10

// sockets are the listeners of a server; admin is nil until it is bound.
type sockets struct {
	api, admin net.Listener
	inherited  bool // passed by the service manager: clients wait in the queue of api while nobody accepts
}

// inherit makes listeners of the files that the service manager passes, sd_listen_fds(3). Clients
// wait in such a socket while nobody accepts.
func (all *sockets) inherit(files []*os.File) error {
	for i, file := range files {
		l, err := net.FileListener(file)
		// The listener has a descriptor of its own.
		err = errors.Join(err, file.Close())
		if err != nil {
			return fmt.Errorf("cannot use the passed socket %d (%q): %w", i+1, file.Name(), err)
		}

		switch {
		case file.Name() == adminSocket && all.admin == nil:
			all.admin = l
		case file.Name() != adminSocket && all.api == nil:
			all.api = l
			all.inherited = true
		default:
			_ = l.Close()
			return fmt.Errorf("cannot use the passed socket %q: want one for the API, and one named %s at most",
				file.Name(), adminSocket)
		}
	}
	return nil
}

func (all *sockets) close() {
	for _, l := range []net.Listener{all.api, all.admin} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// adminSocket is the name of the admin listener's socket if the service manager passes it.
const adminSocket = "admin"

// openSockets takes the sockets that the service manager passes, and binds the rest; port 0 picks a
// free one. The admin address is bound later if the previous server may still have it.
func (n *Node) openSockets(ctx context.Context) error {
	// The servers close their listeners; a start that fails later does not.
	all := &n.sockets
	n.onClose(func() error { all.close(); return nil })
	err := all.inherit(activation.Files(true))
	if err != nil {
		return err
	}
	// A previous server may still have the admin address, and the state directory.
	if all.inherited {
		return nil
	}

	all.api, err = net.Listen("tcp", n.Config.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %q: %w", n.Config.Listen, err)
	}
	return n.openAdmin(ctx)
}

// openAdmin binds the admin address, unless there is a listener already.
func (n *Node) openAdmin(context.Context) (err error) {
	if n.sockets.admin != nil {
		return nil
	}

	n.sockets.admin, err = net.Listen("tcp", n.Config.Admin)
	if err != nil {
		return fmt.Errorf("cannot listen on %q for administration: %w", n.Config.Admin, err)
	}
	return nil
}

// limitListeners returns the listeners with limits on their connections, the API's with TLS if that
// is configured.
func (n *Node) limitListeners(proxies []netip.Prefix) (api, admin net.Listener) {
	n.connLimiter = connlimit.New(limiterOptions(&n.Config, proxies, connlimit.Capacity(), n.Log))
	api = n.connLimiter.Listen(n.sockets.api)
	if n.cert != nil {
		// Above the limiter: a refused connection costs no handshake.
		api = tls.NewListener(api, n.cert.Config())
	}
	adminLog := n.Log.With(slog.String("listener", "admin"))
	return api, connlimit.New(connlimit.Options{Max: connlimit.MaxAdmin, Log: adminLog}).Listen(n.sockets.admin)
}

// limiterOptions returns the limits of the API's connections for a process that has descriptors for
// capacity connections.
func limiterOptions(config *settings.Config, proxies []netip.Prefix, capacity int, log *slog.Logger) connlimit.Options {
	maxOpen := cmp.Or(config.MaxConnections, capacity)
	// More connections would be accepted than there are descriptors.
	if maxOpen > capacity {
		log.Warn("max_connections is more than the descriptors allow", slog.Int("max_connections", maxOpen),
			slog.Int("allowed", capacity))
		maxOpen = capacity
	}

	maxPerAddr := cmp.Or(config.MaxConnectionsPerAddress, max(maxOpen/addressShare, 1))
	return connlimit.Options{
		Max: maxOpen, MaxPerAddr: maxPerAddr, WriteBuffer: writeBuffer, Log: log.With(slog.String("listener", "api")),
		// Behind a proxy are many clients, which the proxy may limit.
		Exempt: func(a netip.Addr) bool {
			return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
		},
	}
}

// addressShare divides the connections: one address may have a quarter of them, so that it takes
// several to lock out others, and a proxy that is not configured has enough.
const addressShare = 4
