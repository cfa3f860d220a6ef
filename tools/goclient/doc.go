// Package goclient holds the imports of clients that oapi-codegen generates in this module's
// requirements. run.sh generates such a client from the OpenAPI document and compiles it.
package goclient

import _ "github.com/oapi-codegen/runtime" // generated clients import these
