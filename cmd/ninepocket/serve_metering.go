package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ninepocket/access"
	"ninepocket/access/statedir"
	"ninepocket/fleet/meter"
)

// acksByName are the values of fleet.acks.
var acksByName = map[string]meter.Acks{
	"replica": meter.AcksReplica, "aof": meter.AcksAOF, "none": meter.AcksNone,
}

// meterOptions are the settings of a store whose rights many servers share.
func (c *config) meterOptions() (meter.Options, error) {
	fleet, err := c.fleet()
	return meter.Options{
		URL: c.Metering, Acks: acksByName[fleet.acks], Replicas: fleet.replicas, Timeout: fleet.timeout,
		Lease: fleet.lease, Prefix: fleet.prefix, RepliesMax: c.RepliesMax,
	}, err
}

// openMeter makes the rights of this server's tenants those of all servers, where that is configured.
// What calls cost stays in the journal of this one.
func (s *service) openMeter(ctx context.Context, journal *access.Embedded) error {
	s.journal = journal
	s.store = journal
	if s.config.Metering == "" {
		return nil
	}

	options, err := s.config.meterOptions()
	if err != nil {
		return fail(exitUsage, "", err)
	}
	options.Incarnation, err = statedir.Incarnation(s.config.State)
	if err != nil {
		return asFailure(err, stateRemedies, s.config.State)
	}
	options.Journal = journal
	options.Now = func() access.Instant { return s.clock.At(time.Now()) }
	options.Report = s.rightsChanged
	options.Recorded = s.fleet.control.ChargedTo

	store, err := meter.Open(ctx, options)
	if err != nil {
		return fail(exitNotReady, "run: ninepocket fleet check --metering URL", err)
	}
	s.store = store
	s.meter = store
	return nil
}

// rightsChanged logs that no rights can be had, that they can again, and what was lost.
func (s *service) rightsChanged(err error) {
	_, lost := errors.AsType[*meter.LostError](err)
	switch {
	case err == nil:
		s.log.Info("rights can be had again")
	case lost:
		s.log.Error("rights were lost", slog.Any("cause", err))
	default:
		s.log.Error("no rights can be had: calls are answered 503, and cost nothing", slog.Any("cause", err))
	}
}

// away says why no rights can be had, which is no fault of this server; nil when they can.
func (s *service) away() error {
	if s.meter == nil {
		return nil
	}
	return s.meter.Away()
}

// checkMeter looks at the Redis of a fleet.
func checkMeter(ctx context.Context, options meter.Options) ([]string, error) {
	clock := access.StartClock(time.Now())
	options.Now = func() access.Instant { return clock.At(time.Now()) }
	found, err := meter.Check(ctx, options)
	texts := make([]string, len(found))
	for i, finding := range found {
		texts[i] = "redis: " + finding.Text
	}
	if err != nil {
		return nil, fmt.Errorf("cannot look at redis: %w", err)
	}
	return texts, nil
}

// rights sends the figures of what servers share in Redis.
func (out sink) rights(stats *meter.Stats) {
	const takes = "fleet_takes_total"
	for i, name := range meter.ResultNames {
		counter(out, takes, "Calls, by what became of their right.", stats.Results[i], "result", name)
	}

	out.histogram("fleet_take_duration_seconds", "Time that Redis took for a batch of questions.", stats.Exchange)
	counter(out, "fleet_batches_total", "Batches of questions that were sent to Redis.", stats.Batches)
	counter(out, "fleet_commands_total", "Questions in these batches.", stats.Commands)
	counter(out, "fleet_lease_calls_total", "Questions for units of large plans, taken ahead.", stats.Leases)
	gauge(out, "fleet_leased_units", "Units of large plans that are taken ahead and not used yet.", stats.Leased)
	counter(out, "fleet_refused_locally_total", "Calls that were refused without asking Redis.", stats.RefusedLocally)
	counter(out, "fleet_unknown_total", "Calls whose answer came too late, or never: 503.", stats.Unknown)
	counter(out, "fleet_lost_writes_total", "Tenants of which Redis lost what it had acknowledged.", stats.Lost)
	gauge(out, "fleet_waiting", "Calls that wait for Redis.", stats.Waiting)
	gauge(out, "fleet_redis_up", "1 while rights can be had of Redis; otherwise calls are answered 503.",
		flag(stats.Up))
	gauge(out, "fleet_redis_clock_difference_seconds", "The clock of Redis, less this machine's.",
		stats.ClockApart.Seconds())
}
