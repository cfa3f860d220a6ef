package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// shBlocks are the blocks of commands of a page.
func shBlocks(t *testing.T, page string) (blocks []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}

	fence := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```")
	command := regexp.MustCompile(`(?m)^(bin/)?(ninepocket|curl|make|docker|claude|npx) `)
	for _, block := range fence.FindAllStringSubmatch(string(b), -1) {
		switch block[1] {
		case "sh":
			blocks = append(blocks, block[2])
		case "", "bash", "shell", "console":
			if command.MatchString(block[2]) {
				t.Errorf("%s has a block of commands that is not marked sh:\n%s", page, block[2])
			}
		}
	}
	return blocks
}

// commandPages are the pages that may show commands.
func commandPages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for i := range pages {
		pages[i], _ = filepath.Rel("../..", pages[i])
	}
	return append(pages, "README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/examples/native/README.md")
}

// TestEveryShownCommandIsOne wants each command that a page shows to be one: its words lead to a
// command, which has the flags and takes the arguments.
func TestEveryShownCommandIsOne(t *testing.T) {
	n := 0
	shown := regexp.MustCompile(`(?m)(?:^|[ (])(?:bin/)?ninepocket ([a-z][^#\n|&;)]*)`)
	for _, page := range commandPages(t) {
		for _, block := range shBlocks(t, page) {
			block = strings.ReplaceAll(block, "\\\n", " ")
			// The program is an argument of another one there.
			block = regexp.MustCompile(`(?m)(go tool pprof|claude mcp add).*$`).ReplaceAllString(block, "")
			for _, found := range shown.FindAllStringSubmatch(block, -1) {
				isCommand(t, page, found[1])
				n++
			}
		}
	}

	if n < 30 {
		t.Errorf("only %d commands were found", n)
	}
}

// TestEveryShownTargetIsOne wants each make target of the pages' blocks to be in the Makefile, also of those
// that no test runs.
func TestEveryShownTargetIsOne(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}

	n := 0
	for _, page := range commandPages(t) {
		for _, block := range shBlocks(t, page) {
			for _, found := range regexp.MustCompile(`(?m)^make ([a-z-]+)`).FindAllStringSubmatch(block, -1) {
				n++
				if !strings.Contains(string(makefile), "\n.PHONY: "+found[1]+"\n") {
					t.Errorf("%s shows make %s, which is no target", page, found[1])
				}
			}
		}
	}

	if n < 8 {
		t.Errorf("only %d targets were found", n)
	}
}

// TestCommandsOfTheRunbook wants each command in the sentences of the runbook to be one, as far as it is given.
func TestCommandsOfTheRunbook(t *testing.T) {
	page, err := os.ReadFile("../../docs/RUNBOOK.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("`ninepocket ([a-z][^`]*)`").FindAllStringSubmatch(string(page), -1)
	if len(shown) < 30 {
		t.Errorf("only %d commands were found", len(shown))
	}

	for _, found := range shown {
		words := strings.Fields(found[1])
		cmd, rest, err := rootCommand().Find(words)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || !cmd.Runnable() {
			t.Errorf("docs/RUNBOOK.md shows: ninepocket %s\n%v", found[1], err)
		}
	}
}

func isCommand(t *testing.T, page, line string) {
	t.Helper()
	line, _, _ = strings.Cut(line, " >")
	var words []string
	for _, word := range regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`).FindAllString(line, -1) {
		words = append(words, strings.Trim(word, `'"`))
	}
	// What a reader is to fill in.
	words = slices.DeleteFunc(words, func(word string) bool { return word == "…" })

	cmd, rest, err := rootCommand().Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.ValidateArgs(cmd.Flags().Args())
	}
	if err != nil || !cmd.Runnable() {
		t.Errorf("%s shows: ninepocket %s\n%v", page, line, err)
	}
}
