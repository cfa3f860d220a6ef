package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine/cursor"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
)

func snapshotPull() *cobra.Command {
	var flags storeFlags
	var from string
	var trusted []string
	var follow bool
	cmd := &cobra.Command{
		Use:   "pull --from URL --store DIR --publisher KEY",
		Short: "Bring what is published for many servers into a store of this machine", Args: cobra.NoArgs,
		Long: "Takes up what an S3-compatible store publishes, when a trusted key signed it and it is newer than\n" +
			"what this store has. Only sections that no snapshot here has are downloaded, and a download that broke\n" +
			"off is gone on with.\n" +
			"The store is then one to serve from; nothing else is to be published into it.",
		Example: "  ninepocket snapshot pull --from 's3://cards/prod' --store cache --publisher ops-2026:…",
		RunE: func(cmd *cobra.Command, _ []string) error {
			publishers, err := settings.ParsePublishers(trusted)
			if err != nil {
				return fail(exitUsage, "give what `ninepocket snapshot trust init` printed", err)
			}
			bucket, err := openBucket(from)
			if err != nil {
				return withMirrorHint(err, from)
			}

			log := term.NewLog(cmd.ErrOrStderr(), "text", term.Colourful(cmd.ErrOrStderr()))
			cache := mirror.NewFollower(bucket, flags.dir(), mirror.FollowerOptions{
				Publishers: publishers, RetainFor: cursor.Lifetime, Log: log,
			})
			// A timer instead would be late by its interval.
			if follow {
				cache.Follow(cmd.Context())
				return nil
			}
			return flags.pull(cmd, cache, from)
		},
	}

	flags.add(cmd)
	cmd.Flags().StringVar(&from, "from", "", "s3:// `URL` of the store that servers follow")
	cmd.Flags().StringSliceVar(&trusted, "publisher", nil, "`ID:KEY` that may sign what is published (can be repeated)")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until the command is ended")
	require(cmd, "from", "publisher")
	return cmd
}

// pull pulls once.
func (flags *storeFlags) pull(cmd *cobra.Command, cache *mirror.Follower, from string) error {
	done, err := cache.Pull(cmd.Context())
	if err != nil {
		return withMirrorHint(err, from)
	}

	if !done.Changed {
		return printLine(cmd, flags.asJSON, done, "nothing new: %s (epoch %d)", done.ID, done.Epoch)
	}
	return printLine(cmd, flags.asJSON, done, "pulled %s (epoch %d, signed by %s): %s downloaded", done.ID, done.Epoch,
		done.By, term.Size(done.Downloaded))
}

// trustFlags are the flags of the commands that change who may publish.
type trustFlags struct {
	to, key string
	force   bool
	asJSON  bool
}

// add adds the flags to a command, and hints to its errors.
func (flags *trustFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&flags.to, "to", "", "s3:// `URL` of the store that servers follow")
	cmd.Flags().StringVar(&flags.key, "key", "", "`FILE` with the key that signs")
	cmd.Flags().BoolVar(&flags.asJSON, "json", false, "print JSON")
	require(cmd, "key")

	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return withMirrorHint(run(cmd, args), flags.to)
	}
	return cmd
}

// trustRow is the output of the trust commands.
type trustRow struct {
	Publisher string   `json:"publisher,omitempty"` // of the new or read key
	Version   uint64   `json:"trust,omitempty"`
	Keys      []string `json:"keys,omitempty"`
}

// printTrust prints a new TRUST.
func (flags *trustFlags) printTrust(cmd *cobra.Command, trust *mirror.Trust, key *mirror.Key) error {
	row := trustRow{Publisher: key.Publisher().String(), Version: trust.Version}
	names := make([]string, len(trust.Keys))
	for i, publisher := range trust.Keys {
		row.Keys = append(row.Keys, publisher.String())
		names[i] = publisher.ID
	}
	return printLine(cmd, flags.asJSON, row, "TRUST %d names: %s", trust.Version, strings.Join(names, " "))
}

// trustChange changes TRUST by the argument of a command, signed with a trusted key.
type trustChange func(ctx context.Context, bucket *mirror.Bucket, key *mirror.Key, arg string) (mirror.Trust, error)

// addChange adds the flags to a command that changes TRUST.
func (flags *trustFlags) addChange(cmd *cobra.Command, change trustChange) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		bucket, err := openBucket(flags.to)
		if err != nil {
			return err
		}
		key, err := readKey(flags.key)
		if err != nil {
			return err
		}

		made, err := change(cmd.Context(), bucket, key, args[0])
		if err != nil {
			return err
		}
		return flags.printTrust(cmd, &made, key)
	}
	flags.add(cmd)
	require(cmd, "to")
	return cmd
}

func trustInit() *cobra.Command {
	var flags trustFlags
	cmd := flags.add(&cobra.Command{
		Use: "init NAME --key FILE", Short: "Make a key that signs what is published", Args: cobra.ExactArgs(1),
		Long: "Makes a key in FILE, where there is none, and prints the text that servers get as a publisher. With\n" +
			"--to it also begins the list of keys (TRUST) in the store: from then on keys are added and retired\n" +
			"there, and servers follow.\n" +
			"Keep FILE where only who publishes can read it, and a second key somewhere else.",
		Example: "  ninepocket snapshot trust init ops-2026 --key ops-2026.key --to s3://cards/prod",
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := createOrReadKey(flags.key, args[0])
			if err != nil {
				return err
			}
			if flags.to == "" {
				row := trustRow{Publisher: key.Publisher().String()}
				return printLine(cmd, flags.asJSON, row, "%s", key.Publisher())
			}

			bucket, err := openBucket(flags.to)
			if err != nil {
				return err
			}
			made, err := bucket.InitTrust(cmd.Context(), key, flags.force, time.Now())
			if err != nil {
				return err
			}
			// In JSON it is part of the document.
			if !flags.asJSON {
				cmd.Println(key.Publisher())
			}
			return flags.printTrust(cmd, &made, key)
		},
	})
	cmd.Flags().BoolVar(&flags.force, "anew", false,
		"begin again after all keys were lost; servers follow once their publishers name this key")
	return cmd
}

func trustAdd() *cobra.Command {
	var flags trustFlags
	return flags.addChange(&cobra.Command{
		Use: "add PUBLISHER --to URL --key FILE", Short: "Let one key more sign what is published",
		Args: cobra.ExactArgs(1),
		Long: "PUBLISHER is what `ninepocket snapshot trust init NAME --key OTHER` printed for the new key. --key\n" +
			"is one that may sign already. Servers take the change up with the next publication.",
	}, func(ctx context.Context, bucket *mirror.Bucket, key *mirror.Key, arg string) (mirror.Trust, error) {
		added, err := mirror.ParsePublisher(arg)
		if err != nil {
			return mirror.Trust{}, fail(exitUsage, "give what `ninepocket snapshot trust init` printed", err)
		}
		return bucket.AddTrustedKey(ctx, key, added, time.Now())
	})
}

func trustRetire() *cobra.Command {
	var flags trustFlags
	return flags.addChange(&cobra.Command{
		Use: "retire NAME --to URL --key FILE", Short: "Let a key sign no more", Args: cobra.ExactArgs(1),
		Long: "The key that signed what is current is not retired: push with another one first. Take the retired\n" +
			"key out of the publishers of the servers too: a server that begins without its cache trusts those.",
	}, func(ctx context.Context, bucket *mirror.Bucket, key *mirror.Key, arg string) (mirror.Trust, error) {
		return bucket.RetireTrustedKey(ctx, key, arg, time.Now())
	})
}

// createOrReadKey creates a key with a name in a file, or reads it if it is there.
func createOrReadKey(path, name string) (*mirror.Key, error) {
	key, err := mirror.CreateKey(path, name)
	if err == nil {
		return key, nil
	}

	// An existing key is used if it has that name.
	read, unread := mirror.ReadKey(path)
	switch {
	case unread != nil && errors.Is(err, fs.ErrExist):
		return nil, unread
	case unread != nil:
		return nil, err
	case read.ID != name:
		return nil, fail(exitUsage, "", fmt.Errorf("cannot use %q as key %q: it is key %q", path, name, read.ID))
	}
	return read, nil
}
