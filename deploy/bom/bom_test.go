package main

import (
	"debug/buildinfo"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

const (
	mit = "Copyright (c) 2020 Someone\n\nPermission is hereby granted, free of charge, to any person obtaining\n" +
		"a copy of this software … " +
		"The above copyright notice and this permission notice shall be included in all copies."
	bsd2 = "Redistribution and use in source and binary forms, with or\nwithout modification … in binary form " +
		"must reproduce the above"
	bsd3 = bsd2 + " … Neither the name of Google Inc. nor …"
)

func TestIdentify(t *testing.T) {
	f := func(body string, want ...string) {
		t.Helper()
		if got := identify(body); !slices.Equal(got, want) {
			t.Errorf("identify(%.40q…) = %v, want %v", body, got, want)
		}
	}

	f(mit, "MIT")
	f(strings.ToUpper(mit), "MIT")
	f(bsd2, "BSD-2-Clause")
	f(bsd3, "BSD-3-Clause")
	f(mit+"\n"+bsd3, "MIT", "BSD-3-Clause")
	f("Mozilla Public License, version 2.0 … the GNU General Public License, Version 2.0", "MPL-2.0")
	f("GNU GENERAL PUBLIC LICENSE\nVersion 3", "GPL")
	f("GNU Lesser General Public License … GNU General Public License", "LGPL")
	f("GNU Affero General Public License … GNU General Public License", "AGPL")
	f("All rights reserved.")
}

func TestOffendersAreNamed(t *testing.T) {
	of := func(path string, ids ...string) module {
		return module{Path: path, Texts: []text{{name: "LICENSE", ids: ids}, {name: "NOTICE"}}}
	}
	if err := offenders([]module{
		of("a", "MIT"), of("b", "Apache-2.0", "BSD-3-Clause"),
		of("github.com/hashicorp/golang-lru/v2", "MPL-2.0"),
	}); err != nil {
		t.Error(err)
	}

	err := offenders([]module{
		of("a", "MIT"), of("x.example/gpl", "GPL"), of("x.example/mixed", "MIT", "MPL-2.0"),
		of("x.example/odd", unknown),
		{Path: "x.example/none"},
	})
	if err == nil {
		t.Fatal("offenders passed")
	}

	for _, name := range []string{
		"x.example/gpl is under GPL", "x.example/mixed is under MPL-2.0",
		"x.example/odd is under " + unknown, "x.example/none has no",
	} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%q does not name %q", err, name)
		}
	}
	if strings.Contains(err.Error(), "module a ") {
		t.Errorf("%q names a module that is fine", err)
	}
}

func TestIsLicence(t *testing.T) {
	for name, want := range map[string]bool{
		"LICENSE": true, "license.txt": true, "COPYING": true, "NOTICE": true, "LICENSE-2.0.txt": true,
		"license.go": false, "README": false,
	} {
		if isLicence(name) != want {
			t.Errorf("isLicence(%q) is not %t", name, want)
		}
	}
}

var sample = []module{
	{Path: std, Version: "1.26.8", Texts: []text{{"LICENSE", bsd3, []string{"BSD-3-Clause"}}}},
	{Path: "x.example/a", Version: "v1.0.0", Sum: "h1:abc", Texts: []text{
		{"LICENSE", mit, []string{"MIT"}},
		{"NOTICE", "made by A", nil},
	}},
	{Path: "x.example/b", Version: "v2.0.0+incompatible", Texts: []text{
		{"LICENSE", bsd3, []string{"BSD-3-Clause"}},
		{"sub/LICENSE", mit, []string{"MIT"}},
	}},
}

func TestThirdPartyHasEachTextOnce(t *testing.T) {
	got := string(thirdParty(sample))
	for want, times := range map[string]int{
		bsd3: 1, mit: 1, "made by A": 1, "std/LICENSE\nx.example/b/LICENSE\n": 1,
		"x.example/a/LICENSE\nx.example/b/sub/LICENSE\n":        1,
		"x.example/b v2.0.0+incompatible  BSD-3-Clause AND MIT": 1, "1.26.8": 0,
	} {
		if n := strings.Count(got, want); n != times {
			t.Errorf("%.40q… is there %d times, want %d:\n%s", want, n, times, got)
		}
	}
}

func TestBillOfMaterials(t *testing.T) {
	info := &buildinfo.BuildInfo{Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}}}
	info.Main.Path = "ninepocket"
	out, err := cyclonedx(info, "v1.2.3", sample)
	if err != nil {
		t.Fatal(err)
	}

	var doc bill
	if err := json.Unmarshal(out, &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Format != "CycloneDX" || doc.Spec != "1.6" || doc.Metadata.Component.Version != "v1.2.3" ||
		len(doc.Parts) != 3 {
		t.Errorf("%s", out)
	}

	refs := map[string]bool{doc.Metadata.Component.Ref: true}
	for _, part := range doc.Parts {
		if refs[part.Ref] {
			t.Errorf("%s is there twice", part.Ref)
		}
		refs[part.Ref] = true
	}

	for _, ref := range doc.DependsOn[0].DependsOn {
		if !refs[ref] {
			t.Errorf("depends on %s, which is no component", ref)
		}
	}
	if b := doc.Parts[2]; b.PURL != "pkg:golang/x.example/b@v2.0.0%2Bincompatible" ||
		b.Licenses[0]["expression"] != "BSD-3-Clause AND MIT" {
		t.Errorf("%+v", b)
	}
}
