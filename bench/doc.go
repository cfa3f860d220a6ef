// Package bench measures the whole service and compares it with other servers on the same machine.
//
// # Basics
//
// [Run] drives servers over loopback: our own, bare fasthttp servers that send equal bytes, and
// rivals of the caller. The requests are made from cards and sets that the API returned. Each
// server is a separate process, so that its CPU time and memory can be measured. The servers take
// turns in rounds, and the results are medians over the rounds. [Swap] publishes snapshots under a
// fixed load. [Scale] builds and loads catalogs of several sizes. Work that needs a separate
// process is a [Task], for which the program starts itself again; [Tasks] has the functions that
// run them.
//
// The package measures our own server alone. Other servers for the same requests are in
// bench/rivals, which only bench/figures imports.
//
// The package's own benchmarks run every operation through the pipeline without system calls.
// Benchmarks of single packages are in those packages. bench/check compares all of them with
// bench/budgets.json, and bench/figures writes docs/dev/BENCHMARKS.md.
//
// # Caveats
//
// Client and servers share the machine. With few processors, requests per second describe the
// client as much as the server, so compare the server's CPU time per request. Run's loop is closed:
// a slow response delays the next requests, so that its quantiles do not measure queues. Swap's
// loop is open.
package bench
