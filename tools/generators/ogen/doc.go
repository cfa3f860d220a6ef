// Package ogen calls a server with the clients that ogen makes from the documents of its surfaces.
// It is a module of its own: nothing of the product stands on what it requires.
package ogen

import (
	_ "github.com/go-faster/errors" // these are what generated clients stand on
	_ "github.com/go-faster/jx"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/otelogen"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
	_ "go.opentelemetry.io/otel"
	_ "go.opentelemetry.io/otel/metric"
	_ "go.opentelemetry.io/otel/trace"
)
