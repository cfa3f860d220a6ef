package node

import (
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

// writeBuffer is what the system may keep of answers that a client does not take: the least with
// which large answers leave as fast as without a bound (decision 1702 has the figures). Linux
// doubles it for its own needs: a client that reads nothing takes 0.3 MB instead of 4.
const writeBuffer = 128 << 10

// sockets are the listeners of a server; admin is nil as long as nobody listens.
type sockets struct {
	api, admin net.Listener
	inherited  bool // the service manager gave them: clients wait in them while nobody accepts
}

// inherit makes listeners of the files that the service manager gives, sd_listen_fds(3). Clients
// wait in such a socket while nobody accepts them.
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

// adminSocket is the name by which a service manager gives the socket of the admin listener.
const adminSocket = "admin"

// openSockets takes what the service manager gives, and binds the rest; port 0 picks free ones. The
// admin address is left for later when the server before may have it still.
func (n *Node) openSockets(ctx context.Context) error {
	// Whoever serves closes them before; a start that fails later does not.
	all := &n.sockets
	n.onClose(func() error { all.close(); return nil })
	err := all.inherit(activation.Files(true))
	if err != nil {
		return err
	}
	// A server before has the admin address still, and the state directory too.
	if all.inherited {
		return nil
	}

	all.api, err = net.Listen("tcp", n.Config.Listen)
	if err != nil {
		return fmt.Errorf("cannot listen on %q: %w", n.Config.Listen, err)
	}
	return n.openAdmin(ctx)
}

// openAdmin binds the admin address unless there is a listener already.
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

// limitListeners returns the listeners behind their doors; TLS, where there is some, is above the
// API's.
func (n *Node) limitListeners() (api, admin net.Listener, err error) {
	proxies, err := n.Config.Proxies()
	if err != nil {
		return nil, nil, err
	}

	n.connLimiter = connlimit.New(limiterOptions(&n.Config, proxies, connlimit.Capacity(), n.Log))
	api = n.connLimiter.Listen(n.sockets.api)
	if n.cert != nil {
		// Above the door: what is refused there costs no handshake.
		api = tls.NewListener(api, n.cert.Config())
	}
	adminLog := n.Log.With(slog.String("listener", "admin"))
	return api, connlimit.New(connlimit.Options{Max: connlimit.MaxAdmin, Log: adminLog}).Listen(n.sockets.admin), nil
}

// limiterOptions are the bounds of the API's connections, where the process has descriptors for
// room.
func limiterOptions(config *settings.Config, proxies []netip.Prefix, capacity int, log *slog.Logger) connlimit.Options {
	maxOpen := config.MaxConnections
	if maxOpen == 0 {
		maxOpen = capacity
	}
	// More would be accepted than files can be opened for.
	if maxOpen > capacity {
		log.Warn("max_connections is more than the descriptors allow", slog.Int("max_connections", maxOpen),
			slog.Int("allowed", capacity))
		maxOpen = capacity
	}

	maxPerAddr := config.MaxConnectionsPerAddress
	if maxPerAddr == 0 {
		maxPerAddr = max(maxOpen/addressShare, 1)
	}
	return connlimit.Options{
		Max: maxOpen, MaxPerAddr: maxPerAddr, WriteBuffer: writeBuffer, Log: log.With(slog.String("listener", "api")),
		// Behind a proxy are many visitors, whom it tells apart.
		Exempt: func(a netip.Addr) bool {
			return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
		},
	}
}

// addressShare is the share of all connections that one address may have: a quarter, so that it takes
// several to keep others out, and a proxy that nobody named has plenty.
const addressShare = 4
