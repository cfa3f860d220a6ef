package snapshot

// OwnNamespace is the namespace of our own ids in the identifiers of products (docs/API.md,
// Identifier).
const OwnNamespace = "ninepocket"

// PublicNamespace is the name of a namespace that clients see. Stored catalogs call the card ids of
// pokemon-tcg-data "pokemontcg", but clients know the source by its own name (decision 2002).
func PublicNamespace(stored string) string {
	if stored == "pokemontcg" {
		return "pokemon-tcg-data"
	}
	return stored
}
