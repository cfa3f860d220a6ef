// Package limiter is the store of one server of a fleet, whose servers share the limits of their
// tenants: minute windows, quotas, credits and idempotency keys. The limits are in Redis or Valkey;
// the cost of calls is in each server's own usage log, so that no bill depends on a write to Redis.
//
// A decision is one script that Redis runs atomically; the scripts are in scripts/. A script call
// has all units that a server has charged and reserved, never "one more": so it may be sent again
// until it is answered, and lost, late or repeated calls change nothing. Plans above a thousand
// calls a minute lease calls ahead, for half a second.
//
// An answer is valid when the configured number of replicas has the write. Without that, calls are
// refused and cost nothing.
package limiter
