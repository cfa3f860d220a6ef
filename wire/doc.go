// Package wire spells the API: it appends the JSON of records and errors to byte slices, without
// reflection and without response structs. The decoded shapes live in tests, as the oracle of what
// is appended here. The OpenAPI document that describes all of it is in wire/openapi.
//
// Every AppendX(dst, …) returns the extended slice and keeps no reference to its arguments.
package wire
