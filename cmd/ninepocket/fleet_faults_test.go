package main

import (
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/postgrestest"
	"ninepocket/internal/redistest"
	"ninepocket/internal/testsweep"
)

// faultFleet is a fleet of real processes on a real Redis and a real PostgreSQL, with a network
// between any two of them that a test can make bad.
type faultFleet struct {
	*fleetKit
	aof     bool                  // one Redis that syncs its file; else a primary with a replica
	redis   [2]*redistest.Process // the primary first; with aof it is alone
	between *tcpProxy             // to the primary, for its replica
	members [2]*member
	crowd   *clientPool
}

// member is one server, with a network to each engine.
type member struct {
	*program
	environ     []string
	rights, sql *tcpProxy
	address     atomic.Pointer[string]
}

// newFaultFleet starts the engines and two servers.
func newFaultFleet(t *testing.T, aof bool) *faultFleet {
	t.Helper()
	redistest.Need(t)
	q := &faultFleet{fleetKit: newFleetKit(t), aof: aof}
	database, err := url.Parse(q.control)
	if err != nil {
		t.Fatal(err)
	}

	acks := "aof"
	if aof {
		q.redis[0] = redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	} else {
		acks = "replica"
		q.redis[0] = redistest.Start(t)
		q.between = newTCPProxy(t, q.redis[0].Address())
		q.redis[1] = redistest.Start(t)
		q.follows(q.redis[1])
	}
	q.isOld(q.redis[0])

	config := filepath.Join(t.TempDir(), "ninepocket.toml")
	if err := os.WriteFile(config, []byte(faultFleetPlans), 0o600); err != nil {
		t.Fatal(err)
	}
	q.crowd = newClientPool(q, config)
	for i := range q.members {
		m := &member{
			program: newProgram(t), rights: newTCPProxy(t, q.redis[0].Address()),
			sql: newTCPProxy(t, database.Host),
		}
		m.path = scriptPath(t)
		through := *database
		through.Host = m.sql.address()
		m.environ = []string{
			"NINEPOCKET_CONTROL=" + through.String(), "NINEPOCKET_METERING=redis://" + m.rights.address() + "/0",
			"NINEPOCKET_FLEET__EXPORT=200ms", "NINEPOCKET_FLEET__ACKS=" + acks, "NINEPOCKET_CONFIG=" + config,
		}
		q.members[i] = m
		q.starts(m)
	}
	return q
}

// faultFleetPlans have windows that are full most of the time, exact ones and a leased one.
const faultFleetPlans = `
[plans.tight]
per_minute = 60
per_day = 100000
[plans.middle]
per_minute = 600
per_day = 100000
[plans.leased]
per_minute = 1500
per_day = 100000
[plans.days]
per_minute = 900
per_day = 70
[plans.credits]
per_minute = 900
per_day = 100000
`

func (q *faultFleet) starts(m *member) {
	q.t.Helper()
	m.serve(q.t, m.environ, "", "--state", "own", "--drain-lead", "0s", "--access-log", "access.log")
	address := m.program.address()
	m.address.Store(&address)
}

// follows makes a Redis the replica of the primary, and waits until it is.
func (q *faultFleet) follows(r *redistest.Process) {
	q.t.Helper()
	_, port, _ := net.SplitHostPort(q.between.address())
	r.Try("REPLICAOF", "127.0.0.1", port)
	r.Until("it follows", func() bool {
		return strings.Contains(r.Try("INFO", "replication"), "master_link_status:up") &&
			strings.Contains(q.redis[0].Try("INFO", "replication"), "state=online")
	})
}

// failsOver makes the replica the primary, as a Sentinel does, and the other one its replica.
func (q *faultFleet) failsOver(old func()) {
	q.t.Helper()
	q.between.becomes(proxyState{cut: true})
	q.redis[1].Try("REPLICAOF", "NO", "ONE")
	q.redis[0], q.redis[1] = q.redis[1], q.redis[0] // air: an exchange
	for _, m := range q.members {
		m.rights.leads(q.redis[0].Address())
	}
	old()
	q.between.leads(q.redis[0].Address())
	q.between.becomes(proxyState{})
	q.follows(q.redis[1])
}

// fleetFault is what befalls a squad for a while. It ends with everything well again.
type fleetFault struct {
	name string
	does func(q *faultFleet, m *member, d time.Duration)
}

// onProxy is a network that is bad for a while.
func onProxy(name string, which func(*faultFleet, *member) *tcpProxy, state proxyState) fleetFault {
	return fleetFault{name, func(q *faultFleet, m *member, d time.Duration) {
		which(q, m).becomes(state)
		time.Sleep(d)
		which(q, m).becomes(proxyState{})
	}}
}

// faults are all that may befall a squad.
func (q *faultFleet) faults() []fleetFault {
	rights := func(_ *faultFleet, m *member) *tcpProxy { return m.rights }
	sql := func(_ *faultFleet, m *member) *tcpProxy { return m.sql }

	all := []fleetFault{
		{"a server is killed", func(q *faultFleet, m *member, d time.Duration) {
			_ = m.cmd.Process.Kill()
			_ = m.cmd.Wait() // it was killed
			time.Sleep(d / 2)
			q.starts(m)
		}},
		{"a server stands still", func(_ *faultFleet, m *member, d time.Duration) {
			_ = m.cmd.Process.Signal(syscall.SIGSTOP)
			time.Sleep(d)
			_ = m.cmd.Process.Signal(syscall.SIGCONT)
		}},
		{"redis stands still", func(q *faultFleet, _ *member, d time.Duration) {
			q.redis[0].Signal(syscall.SIGSTOP)
			time.Sleep(d)
			q.redis[0].Signal(syscall.SIGCONT)
		}},
		onProxy("redis cannot be reached", rights, proxyState{cut: true}),
		onProxy("redis is not heard", rights, proxyState{deaf: true}),
		onProxy("bytes to redis wait", rights, proxyState{stalled: true}),
		onProxy("redis is far away", rights, proxyState{delay: 60 * time.Millisecond}),
		onProxy("answers of redis are lost", rights, proxyState{everyKth: 7}),
		onProxy("the database cannot be reached", sql, proxyState{cut: true}),
		onProxy("the database is not heard", sql, proxyState{deaf: true}),
		onProxy("answers of the database are lost", sql, proxyState{everyKth: 5}),
	}
	if q.aof {
		return append(all, fleetFault{"redis is killed", func(q *faultFleet, _ *member, d time.Duration) {
			q.redis[0].Kill()
			time.Sleep(d / 2)
			q.redis[0].Restart()
		}})
	}
	return append(all,
		fleetFault{"redis is killed and its replica takes over", func(q *faultFleet, _ *member, _ time.Duration) {
			q.redis[0].Kill()
			q.failsOver(func() { q.redis[1].Restart() })
		}},
		fleetFault{"redis stands still and its replica takes over", func(q *faultFleet, _ *member, d time.Duration) {
			q.redis[0].Signal(syscall.SIGSTOP)
			q.failsOver(func() {
				time.Sleep(d)
				q.redis[1].Signal(syscall.SIGCONT)
			})
		}},
		fleetFault{"the replica is killed", func(q *faultFleet, _ *member, d time.Duration) {
			q.redis[1].Kill()
			time.Sleep(d / 2)
			q.redis[1].Restart()
			q.follows(q.redis[1])
		}},
		fleetFault{"the replica stands still", func(q *faultFleet, _ *member, d time.Duration) {
			q.redis[1].Signal(syscall.SIGSTOP)
			time.Sleep(d)
			q.redis[1].Signal(syscall.SIGCONT)
		}},
		onProxy("the primary is cut off from its replica", func(q *faultFleet, _ *member) *tcpProxy {
			return q.between
		},
			proxyState{cut: true}),
	)
}

// databaseFaults befall the database that other tests use, too.
func databaseFaults() []fleetFault {
	return []fleetFault{
		{"the database is killed", func(q *faultFleet, _ *member, d time.Duration) {
			server := postgrestest.Start(q.t)
			server.Kill(q.t)
			time.Sleep(d)
			server.Resume(q.t)
		}},
		{"the database stands still", func(q *faultFleet, _ *member, d time.Duration) {
			server := postgrestest.Start(q.t)
			server.Signal(syscall.SIGSTOP)
			time.Sleep(d)
			server.Signal(syscall.SIGCONT)
		}},
	}
}

// TestFleetFaults lets things go wrong under clients of two servers. Over all their answers and
// logs no minute, day or credit is exceeded, and exactly the answered calls are billed, once. A
// repeated batch is answered by the same bytes and billed once.
func TestFleetFaults(t *testing.T) {
	t.Parallel()
	aofModes := []bool{false}
	if long() {
		aofModes = []bool{false, true}
	} else {
		testsweep.OnlyFull(t)
	}

	for _, aof := range aofModes {
		name := "replica"
		if aof {
			name = "aof"
		}
		t.Run(name, func(t *testing.T) {
			q := newFaultFleet(t, aof)
			q.crowd.begins()
			injectFaults(t, q)
			q.crowd.settles()
			q.crowd.agrees()
		})
	}
}

// injectFaults lets a few things go wrong, or in the long form all of them, twice.
func injectFaults(t *testing.T, q *faultFleet) {
	t.Helper()
	all := q.faults()
	rounds := 1
	d := 500 * time.Millisecond
	if long() {
		all = append(all, databaseFaults()...)
		d = 2500 * time.Millisecond
		rounds = 2
	}

	// The schedule of the processes is random, but their faults can be repeated.
	seed := rand.Uint64()
	if text := os.Getenv("NINEPOCKET_SEED"); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("NINEPOCKET_SEED=%d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))

	for round := range rounds {
		dice.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] }) // air: an exchange
		chosen := all
		if !long() {
			chosen = all[:5]
		}
		for i, one := range chosen {
			m := q.members[(round+i)%2]
			if rounds == 1 {
				m = q.members[dice.IntN(2)]
			}
			before := q.crowd.good.Load()
			one.does(q, m, d/2+time.Duration(dice.Int64N(int64(d))))
			t.Logf("%s, server %d: %d calls are answered by then", one.name, slices.Index(q.members[:], m), before)
			q.crowd.until("calls are answered again", func() bool { return q.crowd.good.Load() > before })
			time.Sleep(d / 4)
		}
	}
}
