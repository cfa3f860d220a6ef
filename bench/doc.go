// Package bench measures the whole service: requests through the HTTP pipeline beside a bare server of equal bodies.
// Benchmarks of single packages are beside their code; bench/check holds all of them against bench/budgets.json.
package bench
