package node

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"ninepocket/compat/pokemontcg"
	"ninepocket/server"
	"ninepocket/snapshot"
)

// firstWait is how long the start waits for the index: a small catalog answers from the first request on,
// and a large one does not hold up the rest.
const firstWait = time.Second

// openCompat prepares the current snapshot for the Pokémon TCG API, and follows the engine, which sends each
// swap. A snapshot without its cards is served all the same: the next one may have them.
func openCompat(n *Node, swapped <-chan struct{}) {
	dir := filepath.Join(n.Config.State, "compat-index")
	n.compat = pokemontcg.New(snapshot.OpenStore(n.Config.StoreFolder()), dir, n.Log)
	follow, cancel := context.WithCancel(context.Background())
	first := make(chan struct{})

	var follower sync.WaitGroup
	follower.Go(func() { n.compat.Follow(follow, n.engine.View, swapped, func() { close(first) }) })
	n.onClose(func() error {
		cancel()
		follower.Wait()
		return nil
	})

	select {
	case <-first:
	case <-time.After(firstWait):
	}
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
