package pokemontcg

// For tests from outside.
var (
	MadeFiles = madeFiles
	RealFiles = realFiles
)

// Records are what a service answers from, besides prices.
func Records(s *Service) any { return s.state.Load().records }
