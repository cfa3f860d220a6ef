// Package wire encodes the API's responses: it appends the JSON of records and errors to byte
// slices, without reflection and without response structs. The structs are in the tests, which
// decode what is appended here and compare. The OpenAPI document that describes all responses is in
// wire/openapi.
//
// Every AppendX(dst, …) returns the extended slice and retains no reference to its arguments.
package wire
