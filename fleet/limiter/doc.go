// Package limiter is the store of one server among many that share the rights of their tenants:
// minute windows, quotas, credits and idempotency keys hold over all of them. The rights are in
// Redis or Valkey; what calls have cost is in each server's own journal, so that no bill depends on
// a write that Redis kept.
//
// A decision is one script that runs in Redis at once ([Open] says which; scripts/ has them). It says
// what a server has charged and holds, never "one more": so it may be sent again until it is
// answered, and what is lost, late or repeated changes nothing. Plans above a thousand calls a minute
// lease units ahead, for half a second.
//
// An answer counts when as many replicas have it as was asked for. While that cannot be had, calls are
// refused and cost nothing.
package limiter
