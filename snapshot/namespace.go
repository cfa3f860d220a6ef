package snapshot

// OwnNamespace is the namespace of our own ids in the identifiers of products (docs/API.md,
// Identifier).
const OwnNamespace = "ninepocket"

// PublicNamespace is what clients are shown of a namespace: builds have called pokemon-tcg-data's
// card ids "pokemontcg" from the beginning, and clients know the source by its own name (decision
// 2002).
func PublicNamespace(stored string) string {
	if stored == "pokemontcg" {
		return "pokemon-tcg-data"
	}
	return stored
}
