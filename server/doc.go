// Package server speaks HTTP: the two surfaces of the API over one route table, on fasthttp.
//
// # Basics
//
// A request is an [exchange] that goes through one pipeline: route, credentials, surface,
// admission, parameters, operation, charge, answer. A surface is a value (live.go, preview.go): how
// it takes a key, spells an error and shows limits. A path declares which operation it has on which
// surface; nothing else knows both.
//
// # Caveats
//
// Whatever comes from fasthttp's RequestCtx dies with the handler. Text that an operation reads
// from parameters lives in the exchange's scratch memory and dies with it too: what is to be kept
// is copied.
package server
