package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ninepocket/internal/disk/disktest"
)

// smallDay is the calls a day of the victim's smallest tenant.
const smallDay = 20

// faultServer is a server that a fault comes upon, and its clients.
type faultServer struct {
	*program
	t       *testing.T
	live    *visitor
	partner *visitor
	written bool // its log is one that is written and not mapped
	burst   int  // how many calls a client sends at once
	fault   string

	answered      int64    // live calls that were answered 200
	refused       int64    // live calls that were answered 503
	batches       []string // idempotency keys of batches that were asked for
	made          map[string]bool
	smallAnswered int64 // calls of the tenant with few of them that were answered 200

	key2     string // made during the fault
	snapshot string // published during the fault
}

// newFaultServer is a server with its clients that is not started yet.
func newFaultServer(t *testing.T) *faultServer {
	t.Helper()
	p := newProgram(t)
	return &faultServer{
		program: p, t: t, made: map[string]bool{}, live: &visitor{key: p.key},
		partner: &visitor{key: prepared.partner},
		burst:   40, // so that the log grows as under load
	}
}

// start starts the server, on a disk that fails where there is one.
func (v *faultServer) start(injector *faultInjector) {
	v.t.Helper()
	v.injector = injector
	if injector != nil {
		v.setRule(nil)
	}
	v.serve(v.t, []string{fmt.Sprint("NINEPOCKET_PLANS__STARTER__PER_DAY=", smallDay)}, "")
	for _, one := range []*visitor{v.live, v.partner} {
		one.leave()
		one.address = v.address()
	}
}

// dies kills the server.
func (v *faultServer) dies() {
	v.t.Helper()
	if err := v.cmd.Process.Kill(); err != nil {
		v.t.Fatal(err)
	}
	_ = v.cmd.Wait() // it was killed
	v.live.leave()
	v.partner.leave()
}

// setRule gives the rule of a fault to the disk, besides what makes a log written.
func (v *faultServer) setRule(rule disktest.Rule) {
	v.injector.Set(func(call disktest.Call) disktest.Effect {
		if call.Op == "create" && call.Mapped && v.written {
			return disktest.Effect{Fail: syscall.EOPNOTSUPP}
		}
		if rule == nil {
			return disktest.Effect{}
		}
		return rule(call)
	})
}

// round makes calls of each kind. Everything but 200 and 503 is a mistake.
func (v *faultServer) round() (refused int) {
	v.t.Helper()
	good, refused, err := v.live.many(v.burst)
	v.answered += int64(good)
	v.refused += int64(refused)
	if err != nil {
		v.t.Fatalf("%s: a call: %v\n%s", v.fault, err, v.log)
	}

	// A partner repeats refused calls with its key, as the error says.
	v.batches = append(v.batches, fmt.Sprint("batch-", len(v.batches)))
	for _, name := range v.batches[max(0, len(v.batches)-2):] {
		refused += v.batch(name)
	}
	return refused
}

// many sends calls at once and reads their answers.
func (v *visitor) many(n int) (good, refused int, err error) {
	request := "GET /v1/games HTTP/1.1\r\nHost: x\r\nX-API-Key: " + v.key + "\r\n\r\n"
	if v.conn == nil {
		status, err := v.send(request)
		if err != nil || status != http.StatusOK && status != http.StatusServiceUnavailable {
			return 0, 0, fmt.Errorf("status %d: %w", status, err)
		}
		good = btoi(status == http.StatusOK)
		return good, 1 - good, nil
	}

	_ = v.conn.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(v.conn, strings.Repeat(request, n)); err != nil {
		return 0, 0, err
	}
	for range n {
		resp, err := http.ReadResponse(v.r, nil)
		if err == nil {
			_, err = io.Copy(io.Discard, resp.Body)
		}
		switch {
		case err != nil:
			return good, refused, err
		case resp.StatusCode == http.StatusOK:
			good++
		case resp.StatusCode == http.StatusServiceUnavailable:
			refused++
		default:
			return good, refused, fmt.Errorf("status %d", resp.StatusCode)
		}
	}
	return good, refused, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// batch asks for a batch of the preview contract.
func (v *faultServer) batch(name string) (refused int) {
	v.t.Helper()
	const body = `{"items":[{"kind":"sealed","product_id":"prd_abc"}]}`
	status, err := v.partner.send(fmt.Sprintf("POST /v1/prices/batch HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s", v.partner.key, name,
		len(body), body))
	switch {
	case err == nil && status == http.StatusOK:
		v.made[name] = true
	case err == nil && status == http.StatusServiceUnavailable:
		return 1
	default:
		v.t.Fatalf("%s: a batch: %d, %v\n%s", v.fault, status, err, v.log)
	}
	return 0
}

// rounds makes calls for a while.
func (v *faultServer) rounds(d time.Duration) (refused int) {
	v.t.Helper()
	for begun := time.Now(); time.Since(begun) < d; time.Sleep(20 * time.Millisecond) {
		refused += v.round()
	}
	return refused
}

// comesBack wants, within 30 s and with nobody's help, a new client to be answered 200 and the
// server to call itself ready.
func (v *faultServer) comesBack() time.Duration {
	v.t.Helper()
	fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 20 * time.Second}

	for over := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		one := &visitor{address: v.address(), key: v.key}
		err := one.ask()
		one.leave()
		if err == nil {
			v.answered++
			err = v.isReady(fresh)
		}
		if err == nil {
			return time.Since(over)
		}

		if time.Since(over) > 30*time.Second {
			v.t.Fatalf("%s: 30 s after its end: %v\n%s", v.fault, err, v.log)
		}
	}
}

func (v *faultServer) isReady(client *http.Client) error {
	resp, err := client.Get(v.Admin + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	why, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("not ready: %s", strings.TrimSpace(string(why)))
	}
	return err
}

// smallTenantCalls makes calls of the tenant that has few of them a day, until it is refused or has
// made n. It returns the seconds that the refusal names, 0 without one.
func (v *faultServer) smallTenantCalls(n int) (retry int) {
	v.t.Helper()
	for range n {
		req, err := http.NewRequestWithContext(v.t.Context(), http.MethodGet, v.API+"/v1/games", http.NoBody)
		if err != nil {
			v.t.Fatal(err)
		}
		req.Header.Set("X-API-Key", prepared.small)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			v.t.Fatalf("%s: %v", v.fault, err)
		}
		_ = resp.Body.Close()

		switch resp.StatusCode {
		case http.StatusOK:
			v.smallAnswered++
		case http.StatusTooManyRequests:
			retry, err = strconv.Atoi(resp.Header.Get("Retry-After"))
			if err != nil {
				v.t.Fatalf("%s: %v", v.fault, err)
			}
			return retry
		default:
			v.t.Fatalf("%s: a call with few left: %d", v.fault, resp.StatusCode)
		}
	}
	return 0
}

// settle sends every batch until it is answered. Then the ledger must equal the clients' count: on
// the running server, after it was killed, and on the next server.
func (v *faultServer) settle() {
	v.t.Helper()
	for _, name := range v.batches {
		for deadline := time.Now().Add(30 * time.Second); v.batch(name) != 0; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(deadline) {
				v.t.Fatalf("%s: batch %s is refused", v.fault, name)
			}
		}
	}
	v.agrees("while the server runs", 0)

	v.dies()
	v.agrees("after kill -9", 0)
	v.start(nil)
	if err := v.live.ask(); err != nil {
		v.t.Fatalf("%s: the next server: %v\n%s", v.fault, err, v.log)
	}
	v.answered++
	v.agrees("of the next server", 0)
}

// agrees compares the ledger with what clients saw. So many calls may be charged beyond that:
// those that were answered 503, or not at all, when a server died.
func (v *faultServer) agrees(when string, beyond int64) {
	v.t.Helper()
	charged := v.charged(v.t)
	expected := map[string]int64{"acme": v.answered, "partner": int64(len(v.made)), "small": v.smallAnswered}
	for tenant, want := range expected {
		if got := charged[tenant]; got < want || got > want+beyond {
			v.t.Errorf("%s: %s %s is charged %d calls; %d were answered 200, of all %d live ones 503", v.fault, when,
				tenant, got, want, v.refused)
		}
	}
}

// published makes a key and a snapshot during the fault.
func (v *faultServer) published() {
	v.t.Helper()
	v.key2 = anotherTenant(v.t, v.dir, "late", "--surface", "live", "--plan", "unlimited")
	v.snapshot = v.anotherSnapshot(v.t)
}

// anotherTenant makes the key of one more tenant.
func anotherTenant(t *testing.T, dir, tenant string, flags ...string) string {
	t.Helper()
	var made struct{ Key string }
	args := append([]string{"keys", "create", "--state", "state", "--tenant", tenant, "--json"}, flags...)
	if err := json.Unmarshal([]byte(command(t, dir, args...)), &made); err != nil {
		t.Fatal(err)
	}
	return made.Key
}
