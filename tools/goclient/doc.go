// Package goclient keeps what clients that oapi-codegen generates import in this module's
// requirements. run.sh generates one from the OpenAPI document and compiles it.
package goclient

import _ "github.com/oapi-codegen/runtime" // what generated clients stand on
