package main

import "strings"

// unknown is the licence of a text that no rule matches.
const unknown = "LicenseRef-unknown"

// permissive are the licences that ask for no more than their text and the names of the authors.
var permissive = []string{
	"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "Unlicense",
	"Zlib",
}

// accepted are modules under another licence, each with the reason.
var accepted = map[string]string{
	// Linked by the reader of 7-Zip archives. MPL-2.0 covers the module's own files and no
	// others. They are used unchanged, and the module's path names their source (section 3.2).
	"github.com/hashicorp/golang-lru/v2": "MPL-2.0",
}

// phrases identify licences by sentences that all copies share, independent of lines and names.
var phrases = []struct {
	id       string
	all, not []string
}{
	{id: "MPL-2.0", all: []string{"mozilla public license, version 2.0"}},
	{id: "MPL-1.1", all: []string{"mozilla public license version 1.1"}},
	{id: "EPL", all: []string{"eclipse public license"}},
	{id: "AGPL", all: []string{"gnu affero general public license"}, not: []string{"mozilla public license"}},
	{id: "LGPL", all: []string{"gnu lesser general public license"}, not: []string{
		"mozilla public license",
		"gnu affero",
	}},
	{id: "GPL", all: []string{"gnu general public license"}, not: []string{
		"mozilla public license", "gnu affero",
		"gnu lesser",
	}},
	{id: "Apache-2.0", all: []string{"apache license", "version 2.0, january 2004", "grant of copyright license"}},
	{id: "Apache-2.0", all: []string{`licensed under the apache license, version 2.0`}},
	{id: "MIT", all: []string{
		"permission is hereby granted, free of charge, to any person obtaining a copy",
		"shall be included in",
	}},
	{id: "ISC", all: []string{"permission to use, copy, modify, and/or distribute this software for any purpose " +
		"with or without fee"}},
	{
		id:  "BSD-2-Clause",
		all: []string{"redistribution and use in source and binary forms", "binary form must reproduce"},
		not: []string{"neither the name", "used to endorse or promote"},
	},
	{id: "BSD-3-Clause", all: []string{"redistribution and use in source and binary forms", "neither the name"}},
	{id: "BSD-3-Clause", all: []string{
		"redistribution and use in source and binary forms",
		"used to endorse or promote",
	}},
	{id: "CC0-1.0", all: []string{"cc0 1.0 universal"}},
	{id: "Unlicense", all: []string{"this is free and unencumbered software released into the public domain"}},
	{id: "Zlib", all: []string{
		"this software is provided 'as-is', without any express or implied warranty",
		"altered source versions",
	}},
}

// identify returns the licences of a text, several when it joins the licences of several parts.
func identify(body string) (ids []string) {
	flat := strings.Join(strings.Fields(strings.ToLower(body)), " ")
	has := func(phrase string) bool { return strings.Contains(flat, phrase) }
	for _, rule := range phrases {
		fits := true
		for _, phrase := range rule.all {
			fits = fits && has(phrase)
		}

		for _, phrase := range rule.not {
			fits = fits && !has(phrase)
		}
		if fits && (len(ids) == 0 || ids[len(ids)-1] != rule.id) {
			ids = append(ids, rule.id)
		}
	}
	return ids
}
