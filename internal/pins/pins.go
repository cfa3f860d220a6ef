// Package pins exists only until every dependency has its importer.
package pins

import (
	_ "github.com/blevesearch/bleve/v2"
	_ "github.com/blevesearch/bleve/v2/index/scorch"
	_ "github.com/bodgit/sevenzip"
	_ "github.com/cespare/xxhash/v2"
	_ "github.com/dgraph-io/ristretto/v2"
	_ "github.com/fasthttp/router"
	_ "github.com/go-json-experiment/json"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/klauspost/compress/zstd"
	_ "github.com/lmittmann/tint"
	_ "github.com/pelletier/go-toml/v2"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/valyala/fasthttp"
	_ "github.com/vmihailenco/msgpack/v5"
	_ "go.etcd.io/bbolt"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/term"
	_ "golang.org/x/text/unicode/norm"
	_ "gopkg.in/yaml.v3"
	_ "pgregory.net/rapid"
)
