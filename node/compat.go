package node

import (
	"context"
	"log/slog"

	"ninepocket/compat/pokemontcg"
	"ninepocket/server"
	"ninepocket/snapshot"
)

// openCompat prepares the current snapshot for the Pokémon TCG API, and follows the engine. A snapshot
// without its cards is served all the same: the next one may have them.
func openCompat(n *Node) error {
	n.compat = pokemontcg.New(snapshot.OpenStore(n.Config.StoreFolder()), n.Log)
	follow, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	// The first requests find it ready.
	if view := n.engine.View(); view != nil {
		if err := n.compat.Prepare(follow, view); err != nil {
			n.Log.Warn("the Pokémon TCG API cannot be answered yet", slog.Any("cause", err))
		}
	}

	go func() {
		defer close(done)
		n.compat.Follow(follow, n.engine.View)
	}()
	n.onClose(func() error {
		cancel()
		<-done
		return nil
	})
	return nil
}

// compatOptions returns the contract for the server, nil when it is off.
func compatOptions(n *Node) (*server.Compat, error) {
	if n.compat == nil {
		return nil, nil
	}
	plans, err := n.Config.PlanTable()
	return &server.Compat{
		Operations: n.compat.Operations(), AppendError: pokemontcg.AppendError,
		Anonymous: plans[n.Config.Compat.Anonymous],
	}, err
}
