// Package bench measures the whole service, beside other servers on the same machine.
//
// # Basics
//
// [Run] drives servers over loopback with requests that a catalog's own API gave the subjects of:
// ours as it is served, bare fasthttp servers that answer the same bytes, and the rivals that the
// caller has. Each is a process of its own, so that its CPU time and memory are its alone; they take
// turns in rounds, and medians over the rounds count. [Swap] publishes snapshots under a fixed load.
// [Scale] builds and loads catalogs of several sizes. What needs a process of its own is a [Task],
// which the program does when it is started again with it; [Tasks] says how.
//
// The package is linked into the product and so measures ours alone. What others make of the same
// requests is in bench/rivals, which only bench/figures imports.
//
// The package's own benchmarks take every operation through the pipeline without system calls.
// Benchmarks of single packages are beside their code; bench/check holds all of them against
// bench/budgets.json, and bench/figures writes docs/PERFORMANCE.md.
//
// # Caveats
//
// Client and servers share the machine: with few processors requests a second say as much about the
// client as about the server, and the server's CPU time a request is the figure that counts. Run's
// loop is closed: a slow answer holds back the requests behind it, so that its quantiles say
// nothing about queues; Swap's is open.
package bench
