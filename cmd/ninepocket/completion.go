package main

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"ninepocket/access/keys"
	"ninepocket/loader/source"
	"ninepocket/snapshot"
	"ninepocket/snapshot/guard"
)

// flagValues are the completions of flag values, by flag name on every command.
var flagValues = map[string]cobra.CompletionFunc{
	"source":     completeInput,
	"prices":     completeInput,
	"base":       completeIDs("none", "current", "previous", "latest"),
	"plan":       fixedValues(keys.DefaultPlans().Names()...),
	"surface":    fixedValues("live", "preview", "sandbox"),
	"scopes":     fixedValues(keys.AllScopes.Names()...),
	"log-format": fixedValues("text", "json"),
	"tenant":     completeTenants,
	"config":     cobra.FixedCompletions([]string{"toml"}, cobra.ShellCompDirectiveFilterFileExt),
	"store":      completeFolders,
	"state":      completeFolders,
	"control":    cobra.NoFileCompletions,
	"metering":   cobra.NoFileCompletions,
	"to":         cobra.NoFileCompletions,
	"from":       cobra.NoFileCompletions,
	"publisher":  cobra.NoFileCompletions,
	"mapping":    completeFolders,
	"ready-file": cobra.NoFileCompletions,
	"override":   fixedValues(guard.Names()...),
}

// fixedValues completes a fixed list of values.
func fixedValues(values ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
}

// completeFolders completes folders.
var completeFolders = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)

// addCompletions adds completions of flag values to every command below root, and of ids if it
// takes some.
func addCompletions(root *cobra.Command) {
	for _, cmd := range root.Commands() {
		addCompletions(cmd)
		// A flag means the same on every command, so it is completed alike.
		for name, complete := range flagValues {
			if cmd.Flags().Lookup(name) != nil {
				if err := cmd.RegisterFlagCompletionFunc(name, complete); err != nil {
					// Registered twice: a programming error.
					panic(err)
				}
			}
		}

		switch {
		case cmd.ValidArgsFunction != nil || cmd.HasSubCommands():
		case cmd.Flags().Lookup("store") != nil && takesIDs(cmd):
			cmd.ValidArgsFunction = completeIDs("current", "previous", "latest")
		case cmd.Flags().Lookup("state") != nil && takesIDs(cmd):
			cmd.ValidArgsFunction = completeKeys
		case cmd.Name() != "init":
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// takesIDs reports whether the usage line has an id, or two of them, A and B.
func takesIDs(cmd *cobra.Command) bool {
	return slices.ContainsFunc(strings.Fields(cmd.Use), func(word string) bool {
		return slices.Contains([]string{"ID", "A", "B"}, strings.Trim(word, "[]…"))
	})
}

// completeIDs completes words that stand for a snapshot, and then the ids of the store in --store,
// newest first. Unreadable snapshots are left out.
func completeIDs(words ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ids := slices.Clone(words)
		_ = complete(cmd) // what is wrong is no completion
		if store, _ := cmd.Flags().GetString("store"); store != "" {
			// An unreadable store has no ids.
			all, _ := snapshot.OpenStore(store).List()
			for _, m := range all {
				ids = append(ids, cobra.CompletionWithDesc(m.ID, m.SnapshotAt.Format("2006-01-02")))
			}
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// keysFile reads the keys file in --state; on an error it has no keys.
func keysFile(cmd *cobra.Command) *keys.File {
	_ = complete(cmd)
	if state, _ := cmd.Flags().GetString("state"); state != "" {
		if file, err := keys.Read(state); err == nil {
			return file
		}
	}
	return &keys.File{}
}

func completeKeys(cmd *cobra.Command, _ []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
	for _, key := range keysFile(cmd).Keys {
		ids = append(ids, cobra.CompletionWithDesc(key.ID, strings.TrimSpace(key.Tenant+" "+key.Name)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp
}

func completeTenants(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return slices.Sorted(maps.Keys(keysFile(cmd).Tenants)), cobra.ShellCompDirectiveNoFileComp
}

// completeInput completes KIND:PATH: the kind first, then files and folders, which no shell
// completes after a colon.
func completeInput(_ *cobra.Command, _ []string, typed string) (found []string, _ cobra.ShellCompDirective) {
	kind, path, colon := strings.Cut(typed, ":")
	if !colon {
		for _, kind := range source.KindNames() {
			found = append(found, kind+":")
		}
		return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}

	// Entries of the last typed folder complete the path.
	dir, _ := filepath.Split(path)
	entries, err := os.ReadDir(cmp.Or(dir, "."))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	for _, entry := range entries {
		name := kind + ":" + dir + entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, typed) {
			found = append(found, name)
		}
	}
	return found, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}
