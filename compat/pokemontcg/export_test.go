package pokemontcg

// For tests from outside.
var (
	MadeFiles = madeFiles
	RealFiles = realFiles
)
