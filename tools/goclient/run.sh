#!/usr/bin/env bash
# Generates a Go client from the OpenAPI document, with preview and without, with no option but what to make, compiles it,
# and asks a server of the demo catalog for prices with it.
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go}

rm -rf generated
mkdir -p generated/documents
(cd ../.. && OPENAPI_OUT="$PWD/tools/goclient/generated/documents" "$go" test -count=1 -run '^TestRenderings$' ./wire/openapi >/dev/null)
for document in preview live; do
  mkdir "generated/$document"
  (cd .. && "$go" tool oapi-codegen -generate types,client -package "$document" -o "goclient/generated/$document/client.go" \
    "goclient/generated/documents/openapi-$document.json")
done
(cd .. && "$go" build ./goclient/...)
(cd ../.. && CGO_ENABLED=0 "$go" build -o tools/goclient/generated/ninepocket ./cmd/ninepocket)
(cd .. && NINEPOCKET=$PWD/goclient/generated/ninepocket "$go" test -count=1 -tags generated ./goclient)
echo 'oapi-codegen: the generated Go clients compile and read prices'
