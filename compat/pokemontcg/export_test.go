package pokemontcg

// For tests from outside.
var (
	MadeFiles = madeFiles
	RealFiles = realFiles
)

// Records are the service's data without prices.
func Records(s *Service) any { return s.state.Load().records }
