// Package ogen calls a server with the clients that ogen makes from the documents of its surfaces.
// It is a separate module, so that the product does not depend on its requirements.
package ogen

import (
	_ "github.com/go-faster/errors" // generated clients import these
	_ "github.com/go-faster/jx"
	_ "github.com/ogen-go/ogen/conv"
	_ "github.com/ogen-go/ogen/otelogen"
	_ "github.com/ogen-go/ogen/uri"
	_ "github.com/ogen-go/ogen/validate"
	_ "go.opentelemetry.io/otel"
	_ "go.opentelemetry.io/otel/metric"
	_ "go.opentelemetry.io/otel/trace"
)
