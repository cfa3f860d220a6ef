package server

import (
	"maps"
	"strings"
	"time"

	"ninepocket/access/keys"
	"ninepocket/api"
	"ninepocket/wire"
)

// Compat is the contract of another API, below a path of its own. Its calls are metered as live ones.
type Compat struct {
	Operations []*api.Operation
	// AppendError writes an error in the form of that API.
	AppendError func(dst []byte, status int, message string) []byte
	// Anonymous is the plan of callers without a key; nil refuses them. Each address has its own minute, and
	// all of them share one day.
	Anonymous *keys.Plan
}

// compatPath begins the paths of Compat.
const compatPath = "/v2"

// anonymousTenant is the tenant that calls without a key are of.
const anonymousTenant = "anonymous"

// compatCodes are the codes of live, except that an invalid key has the status of a plan's limit,
// 403.
var compatCodes = func() map[wire.Code]wire.Meaning {
	codes := maps.Clone(wire.LiveCodes)
	codes[wire.Unauthorized] = codes[wire.PlanLimit]
	return codes
}()

// compat is Compat as a server runs it.
type compat struct {
	surface   surface
	anonymous *keys.Principal // nil when a key is needed
	addresses *addressLimiter // of calls without a key
}

// newCompat returns nil for none.
func newCompat(from *Compat) *compat {
	if from == nil {
		return nil
	}

	contract := &compat{surface: liveSurface}
	contract.surface.codes = compatCodes
	contract.surface.errorType = "application/json"
	contract.surface.encodeError = func(dst []byte, _ string, f wire.APIError, _ string) []byte {
		return from.AppendError(dst, compatCodes[f.Code].Status, f.Detail)
	}
	if plan := from.Anonymous; plan != nil {
		// Half of the minute may come at once, and the other half in its course: never more in any 60 seconds.
		half := max(1, plan.PerMinute/2)
		contract.addresses = newAddressLimiter(time.Minute / time.Duration(half))
		contract.addresses.burst = half
		shared := *plan
		shared.PerMinute = keys.MaxPerMinute
		contract.anonymous = &keys.Principal{
			KeyID: anonymousTenant, Tenant: anonymousTenant, Surface: keys.Live,
			Plan: &shared,
		}
	}
	return contract
}

// withCompat adds the routes of Compat, each also with a slash at its end, as its callers write lists.
func (s *Server) withCompat(table []*route) []*route {
	if s.Compat == nil {
		return table
	}
	for _, op := range s.Compat.Operations {
		table = append(table, &route{
			pattern: op.Path, method: op.Method, live: &operation{Operation: op}, surface: &s.compat.surface,
		})
	}
	return table
}

// isCompat reports whether a path is below that of Compat.
func (s *Server) isCompat(path string) bool { return s.compat != nil && isBelow(path, compatPath) }

// withoutSlash takes the slash off the end of a path of Compat.
func (s *Server) withoutSlash(path string) string {
	if !s.isCompat(path) || strings.HasSuffix(path, "//") {
		return path
	}
	return strings.TrimSuffix(path, "/")
}

// admitAnonymous gives a call without any key the anonymous plan, if there is such a plan. handled is false
// when the call needs a key.
func (contract *compat) admitAnonymous(x *exchange) (f *wire.APIError, handled bool) {
	if contract == nil || contract.anonymous == nil || x.surface != &contract.surface || x.credentials.malformed ||
		x.credentials.header != nil || x.credentials.bearer != nil {
		return nil, false
	}

	// The gate counts all of them as one tenant, whose day they share.
	if wait := contract.addresses.allow(x.s.clientAddr(x), x.now, 1); wait > 0 {
		return rateLimited(wait, "this address asks too often: wait, or send a key of your own"), true
	}
	x.metering.principal = contract.anonymous
	return nil, true
}
