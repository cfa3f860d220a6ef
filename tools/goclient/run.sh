#!/usr/bin/env bash
# Generates Go clients from the OpenAPI document of each surface with no option but what to make, and a small one of the live
# surface with small.yaml; compiles them, and calls every operation of a server of the demo catalog with each.
set -euo pipefail
cd "$(dirname "$0")"
go=${GO:-go}

rm -rf generated
mkdir -p generated/documents
(cd ../.. && OPENAPI_OUT="$PWD/tools/goclient/generated/documents" "$go" test -count=1 -run '^TestRenderings$' ./wire/openapi >/dev/null)
mkdir generated/{live,preview,small}
(
  cd ..
  for document in preview live; do
    "$go" tool oapi-codegen -generate types,client -package "$document" -o "goclient/generated/$document/client.go" \
      "goclient/generated/documents/openapi-$document.json"
  done
  "$go" tool oapi-codegen -config goclient/small.yaml -package small -o goclient/generated/small/client.go \
    goclient/generated/documents/openapi-live.json
  "$go" vet -tags generated ./goclient/...
)

# The files that a reviewer reads if the client is committed to a repository.
size=$(wc -c <generated/small/client.go)
if ((size > 350000)); then
  echo "the small client of the live surface has $size bytes, more than 350 kB" >&2
  exit 1
fi
(cd ../.. && CGO_ENABLED=0 "$go" build -trimpath -buildvcs=false -o tools/goclient/generated/ninepocket ./cmd/ninepocket)
(cd .. && NINEPOCKET=$PWD/goclient/generated/ninepocket "$go" test -count=1 -tags generated ./goclient)
echo "oapi-codegen: the generated Go clients compile and call every operation; the small one has $size bytes"
