package main

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"ninepocket/access"
	"ninepocket/internal/disk"
	"ninepocket/internal/disk/disktest"
)

// clocks is how far a program's clocks are from the machine's.
type clocks struct {
	Wall time.Duration // of the wall clock
	Boot time.Duration // of the time since the machine was started, suspend included
	// Unsynced makes it look as if no time service set the wall clock; else one does.
	Unsynced bool
}

// faultInjector injects faults into the disk and the clocks of a running program. This process
// decides the result of each disk call of the program, and sets its clocks. The program is this
// binary under the name ninepocket, whose disk is another one before main runs.
type faultInjector struct {
	rule      atomic.Pointer[disktest.Rule]
	clocks    atomic.Pointer[clocks]
	disturbed atomic.Int64
	listener  net.Listener
}

// question is what a program asks of the test: about a call, or about the clocks when it has no Op.
type question struct {
	disktest.Call
	Data int // how much a write writes
}

type answer struct {
	Wait   time.Duration
	Fail   syscall.Errno
	Part   int
	Clocks *clocks
}

// askEnv names the socket where a program asks.
const askEnv = "FAULTY_NINEPOCKET"

// newFaultInjector is one that lets everything pass.
func newFaultInjector(t *testing.T) *faultInjector {
	t.Helper()
	folder, err := os.MkdirTemp("", "faulty-") //nolint:usetesting // the name of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "ask"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close(); _ = os.RemoveAll(folder) })

	f := &faultInjector{listener: listener}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go f.serve(conn)
		}
	}()
	return f
}

// Set makes a rule hold from now on; nil lets everything pass.
func (f *faultInjector) Set(rule disktest.Rule) { f.rule.Store(&rule) }

// SetClock sets the clocks from now on.
func (f *faultInjector) SetClock(c *clocks) { f.clocks.Store(c) }

// Disturbed is how many calls failed, waited or were lied to until now.
func (f *faultInjector) Disturbed() int64 { return f.disturbed.Load() }

// Start starts a command that asks.
func (f *faultInjector) Start(cmd *exec.Cmd) error {
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, askEnv+"="+f.listener.Addr().String())
	return cmd.Start()
}

// serve answers a program until it ends.
func (f *faultInjector) serve(conn net.Conn) {
	defer conn.Close()
	in := json.NewDecoder(conn)
	out := json.NewEncoder(conn)
	for {
		var asked question
		if in.Decode(&asked) != nil || out.Encode(f.answer(&asked)) != nil {
			return
		}
	}
}

func (f *faultInjector) answer(asked *question) (reply answer) {
	if asked.Op == "" {
		reply.Clocks = f.clocks.Load()
		f.disturbed.Add(int64(btoi(reply.Clocks != nil)))
		return reply
	}

	rule := f.rule.Load()
	if rule == nil || *rule == nil {
		return reply
	}
	asked.Call.Data = make([]byte, asked.Data)
	effect := (*rule)(asked.Call)
	reply.Wait = effect.Wait
	reply.Part = effect.Part
	_ = errors.As(effect.Fail, &reply.Fail)
	if reply != (answer{}) {
		f.disturbed.Add(1)
	}
	return reply
}

// beFaulty gives this process a disk and clocks that ask a test, when its environment names one.
func beFaulty() {
	at := os.Getenv(askEnv)
	if at == "" {
		return
	}
	_ = os.Unsetenv(askEnv) // not for the programs that it starts
	conn, err := net.Dial("unix", at)
	if err != nil {
		panic(err)
	}

	var mu sync.Mutex
	in := json.NewDecoder(conn)
	out := json.NewEncoder(conn)
	ask := func(asked question) (reply answer) {
		mu.Lock()
		defer mu.Unlock()
		// A test that has ended lets everything pass.
		if out.Encode(asked) != nil || in.Decode(&reply) != nil {
			return answer{}
		}
		return reply
	}

	disk.OS = disktest.New(func(call disktest.Call) disktest.Effect {
		size := len(call.Data)
		call.Data = nil
		reply := ask(question{call, size})
		effect := disktest.Effect{Wait: reply.Wait, Part: reply.Part}
		if reply.Fail != 0 {
			effect.Fail = reply.Fail
		}
		return effect
	})

	truth := access.ReadClocks
	access.ReadClocks = func() access.ClockReading {
		seen := truth()
		if lie := ask(question{}).Clocks; lie != nil {
			seen.Wall += lie.Wall.Milliseconds()
			seen.Boot.Up += lie.Boot.Milliseconds()
			seen.Sync = access.Synced
			if lie.Unsynced {
				seen.Sync = access.Unsynced
			}
		}
		return seen
	}
}
