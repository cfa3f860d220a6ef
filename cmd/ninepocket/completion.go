package main

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/access"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// flagValues complete the values of flags, by their name on whichever command.
var flagValues = map[string]cobra.CompletionFunc{
	"source":     completeInput,
	"prices":     completeInput,
	"base":       completeBase,
	"plan":       cobra.FixedCompletions(access.DefaultPlans().Names(), cobra.ShellCompDirectiveNoFileComp),
	"surface":    cobra.FixedCompletions([]string{"live", "preview", "sandbox"}, cobra.ShellCompDirectiveNoFileComp),
	"scopes":     cobra.FixedCompletions(access.AllScopes.Names(), cobra.ShellCompDirectiveNoFileComp),
	"log-format": cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp),
	"tenant":     completeTenants,
	"config":     cobra.FixedCompletions([]string{"toml"}, cobra.ShellCompDirectiveFilterFileExt),
	"store":      completeFolders,
	"state":      completeFolders,
	"mapping":    completeFolders,
	"ready-file": cobra.NoFileCompletions,
	"override":   cobra.FixedCompletions(guard.Names(), cobra.ShellCompDirectiveNoFileComp),
}

func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// addCompletions gives every command below root its flags' values, and its ids where it takes some.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addCompletions(cmd)
		// A flag means the same on every command, so it is completed alike.
		for name, complete := range flagValues {
			if cmd.Flags().Lookup(name) != nil {
				if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
					// Twice the same: a mistake in this file.
					panic(err)
				}
			}
		}

		switch {
		case cmd.ValidArgsFunction != nil || cmd.HasSubCommands():
		case cmd.Flags().Lookup("store") != nil && takesIDs(cmd):
			cmd.ValidArgsFunction = completeIDs
		case cmd.Flags().Lookup("state") != nil && takesIDs(cmd):
			cmd.ValidArgsFunction = completeKeys
		case cmd.Name() != "init":
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// takesIDs reports whether the usage line names an id, or two of them, A and B.
func takesIDs(cmd *cobra.Command) bool {
	for word := range strings.FieldsSeq(cmd.Use) {
		switch strings.Trim(word, "[]…") {
		case "ID", "A", "B":
			return true
		}
	}
	return false
}

// storedIDs are the snapshots of the store that --store names, newest first. It leaves out what
// cannot be read.
func storedIDs(cmd *cobra.Command) (ids []string) {
	store, err := cmd.Flags().GetString("store")
	if err != nil || store == "" {
		return nil
	}
	all, err := snapshot.OpenDir(store).List()
	if err != nil {
		return nil
	}

	for _, m := range all {
		ids = append(ids, cobra.CompletionWithDesc(m.ID, m.SnapshotAt.Format("2006-01-02")))
	}
	return ids
}

// keysFile reads the keys that --state names, nil when it cannot.
func keysFile(cmd *cobra.Command) *access.KeyFile {
	state, err := cmd.Flags().GetString("state")
	if err != nil || state == "" {
		return nil
	}

	file, err := access.ReadKeys(state)
	if err != nil {
		return nil
	}
	return file
}

func completeIDs(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return append([]string{"current", "previous", "latest"}, storedIDs(cmd)...), cobra.ShellCompDirectiveNoFileComp
}

func completeBase(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return append([]string{"none", "current", "latest"}, storedIDs(cmd)...), cobra.ShellCompDirectiveNoFileComp
}

func completeKeys(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	if file := keysFile(cmd); file != nil {
		for _, k := range file.Keys {
			ids = append(ids, cobra.CompletionWithDesc(k.ID, strings.TrimSpace(k.Tenant+" "+k.Name)))
		}
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func completeTenants(cmd *cobra.Command, _ []string, _ string) (names []string, _ cobra.ShellCompDirective) {
	if file := keysFile(cmd); file != nil {
		for name := range file.Tenants {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeInput completes KIND:PATH: the kind first, then files and folders, which no shell would
// complete behind a colon.
func completeInput(_ *cobra.Command, _ []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	kind, path, colon := strings.Cut(typed, ":")
	if !colon {
		for _, kind := range source.KindNames() {
			found = append(found, kind+":")
		}
		return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}

	// The last folder that is typed is listed.
	dir, _ := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	for _, e := range entries {
		name := kind + ":" + dir + e.Name()
		if e.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, typed) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
