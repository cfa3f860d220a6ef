package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// thirdParty is the file that accompanies every binary: the authors, the licences, and each text
// once.
func thirdParty(modules []module) []byte {
	var b bytes.Buffer
	b.WriteString("ninepocket is built from its own sources (see LICENSE) and from the modules below. Their " +
		"licences and notices follow.\n" +
		"Written by `make licenses` from the Linux build; do not edit.\n\n")

	names := make([]string, len(modules))
	width := 0
	for i := range modules {
		names[i] = modules[i].Path + " " + modules[i].Version
		if modules[i].Path == std {
			// Of whichever patch release builds.
			names[i] = "the Go standard library"
		}
		width = max(width, len(names[i]))
	}
	for i := range modules {
		_, _ = fmt.Fprintf(&b, "%-*s  %s\n", width, names[i], strings.Join(modules[i].ids(), " AND "))
	}

	// Many modules have byte-identical texts.
	type owned struct {
		body   string
		owners []string
	}

	var texts []owned
	for i := range modules {
		for _, t := range modules[i].Texts {
			owner := modules[i].Path + "/" + t.name
			at := slices.IndexFunc(texts, func(o owned) bool { return o.body == t.body })
			if at < 0 {
				texts = append(texts, owned{t.body, []string{owner}})
				continue
			}
			texts[at].owners = append(texts[at].owners, owner)
		}
	}

	line := strings.Repeat("=", 80)
	for _, owned := range texts {
		_, _ = fmt.Fprintf(&b, "\n%s\n%s\n%s\n\n%s\n", line, strings.Join(owned.owners, "\n"), line,
			strings.Trim(owned.body, "\n"))
	}
	return b.Bytes()
}

// The members of a CycloneDX 1.6 document that are used here.
type (
	bill struct {
		Schema    string      `json:"$schema"`
		Format    string      `json:"bomFormat"`
		Spec      string      `json:"specVersion"`
		Version   int         `json:"version"`
		Metadata  metadata    `json:"metadata"`
		Parts     []component `json:"components"`
		DependsOn []edge      `json:"dependencies"`
	}
	metadata struct {
		Lifecycles []map[string]string `json:"lifecycles"`
		Component  component           `json:"component"`
	}
	component struct {
		Ref        string              `json:"bom-ref"`
		Type       string              `json:"type"`
		Name       string              `json:"name"`
		Version    string              `json:"version"`
		Scope      string              `json:"scope,omitempty"`
		Licenses   []map[string]string `json:"licenses,omitempty"`
		PURL       string              `json:"purl"`
		Properties []property          `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	edge struct {
		Ref       string   `json:"ref"`
		DependsOn []string `json:"dependsOn"`
	}
)

// cyclonedx is the bill of materials. It has neither a serial number nor a time, so that equal
// builds have equal bills.
func cyclonedx(info *buildinfo.BuildInfo, version string, modules []module) ([]byte, error) {
	self := component{
		Ref: "pkg:golang/" + info.Main.Path, Type: "application", Name: info.Main.Path, Version: version,
		Licenses: []map[string]string{{"expression": "Apache-2.0"}}, PURL: "pkg:golang/" + info.Main.Path,
	}
	for _, s := range info.Settings {
		self.Properties = append(self.Properties, property{"go:build:" + s.Key, s.Value})
	}

	doc := bill{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{Lifecycles: []map[string]string{{"phase": "build"}}, Component: self},
	}

	edges := edge{Ref: self.Ref}
	for i := range modules {
		m := &modules[i]
		purl := "pkg:golang/" + m.Path + "@" + strings.ReplaceAll(m.Version, "+", "%2B")
		c := component{
			Ref: purl, Type: "library", Name: m.Path, Version: m.Version, Scope: "required", PURL: purl,
			Licenses: []map[string]string{{"expression": strings.Join(m.ids(), " AND ")}},
		}
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		doc.Parts = append(doc.Parts, c)
		edges.DependsOn = append(edges.DependsOn, purl)
	}

	doc.DependsOn = []edge{edges}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	err := enc.Encode(doc)
	return b.Bytes(), err
}
