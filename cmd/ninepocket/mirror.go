package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ninepocket/engine/cursor"
	"ninepocket/fleet/mirror"
	"ninepocket/internal/settings"
	"ninepocket/internal/term"
	"ninepocket/snapshot"
)

// mirrorHints are for errors of a bucket. FOLDER stands for its URL.
var mirrorHints = []errorHint{
	hint(exitUsage,
		"--to and --from want s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION; credentials come from "+
			"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from AWS_SHARED_CREDENTIALS_FILE", mirror.ErrLocation),
	hint(exitUsage, "make a key: ninepocket snapshot trust init NAME --key FILE", mirror.ErrKey),
	hint(exitRefused, "use a store with conditional writes (If-Match and If-None-Match), and no proxy that drops them",
		mirror.ErrNoConditionalWrites),
	hint(exitRefused, "look why, then add --release", mirror.ErrFrozen),
	hint(exitRefused, "nothing was published by this command; look at what the other one did before you push again",
		mirror.ErrTooLate),
	hint(exitRefused, "sign with a key that TRUST names, or let one of those add yours: "+
		"ninepocket snapshot trust add PUBLISHER --to FOLDER --key FILE", mirror.ErrNotPublisher),
	hint(exitFailure, "push once more when the store answers: what is published already is not published twice",
		mirror.ErrUnknownResult),
	hint(exitRefused, "somebody else writes into this prefix: look at who may", mirror.ErrContentDiffers),
	hint(exitRefused,
		"add a key to it: ninepocket snapshot trust add PUBLISHER --to FOLDER --key FILE; after all keys "+
			"were lost, start again with --anew", mirror.ErrTrustExists),
	hint(exitRefused, "begin with the key that signed it, and let that one add yours: ninepocket snapshot trust add; "+
		"after it was lost, start again with --anew", mirror.ErrNotTrustMember),
	hint(exitRefused, "begin one: ninepocket snapshot trust init NAME --to FOLDER --key FILE", mirror.ErrNoTrust),
	hint(exitRefused, "push what is current with another key, and let that one retire this one", mirror.ErrInUse),
	hint(exitRefused,
		"the store or what is between changed it, or publishers has another key of this name: nothing was "+
			"taken up; look at publishers, and at who may write there",
		mirror.ErrBadSignature, mirror.ErrManifest, mirror.ErrChecksum, mirror.ErrTrustBroken),
	hint(exitRefused, "use a newer version of ninepocket, or look at who wrote it", mirror.ErrVersion),
	hint(exitFailure, "publish: ninepocket snapshot push --store DIR --to FOLDER --key FILE",
		mirror.ErrNoPublication),
	hint(exitFailure, "look at the endpoint, region and bucket of the URL, at AWS_ACCESS_KEY_ID and "+
		"AWS_SECRET_ACCESS_KEY, and whether the store lets this machine in", mirror.ErrUnavailable),
}

// withMirrorHint adds the exit code and hint to an error of a bucket.
func withMirrorHint(err error, place string) error {
	if untrusted, ok := errors.AsType[*mirror.UntrustedError](err); ok {
		return fail(exitRefused, "if "+untrusted.Key+" may publish, add it to publishers (--publisher), or let a "+
			"trusted key add it: ninepocket snapshot trust add", err)
	}
	if _, ok := errors.AsType[*snapshot.StaleEpochError](err); ok {
		return fail(exitRefused, "", err)
	}
	return withHint(err, slices.Concat(mirrorHints, storeHints), withoutQuery(place))
}

// withoutQuery returns the URL of a bucket without its parameters, for messages.
func withoutQuery(place string) string {
	text, _, _ := strings.Cut(settings.Redact(place), "?")
	return text
}

// openBucket opens the bucket at a URL.
func openBucket(text string) (*mirror.Bucket, error) {
	place, err := mirror.ParseLocation(text)
	if err != nil {
		return nil, err
	}
	return mirror.Open(place), nil
}

// pushFlags are the flags of a push, alone and after a release.
type pushFlags struct {
	mirror.PushOptions // check sets Key
	to, key            string
}

// The time until servers activate a release. In that time they read CURRENT, download at random
// moments, and load it. A rollback is urgent, and the snapshot is in their folders.
const (
	defaultLead  = time.Minute
	rollbackLead = 10 * time.Second
)

func (flags *pushFlags) add(cmd *cobra.Command, lead time.Duration) {
	f := cmd.Flags()
	f.StringVar(&flags.to, "to", "", "s3:// `URL` of the store that servers follow")
	f.StringVar(&flags.key, "key", "", "`FILE` with the key that signs, which `snapshot trust init` made")
	f.DurationVar(&flags.Lead, "activate-in", lead,
		"`TIME` until the scheduled activation on all servers, up to 24h; 0s is as soon as each has it")
	f.Uint64Var(&flags.AfterEpoch, "above", 0,
		"publish above this `EPOCH`, which servers name and the store lost (a copy of it was restored)")
	f.BoolVar(&flags.Freeze, "freeze", false, "refuse every push after this one, until one with --release")
	f.BoolVar(&flags.Unfreeze, "release", false, "publish although the last push was one with --freeze")
	f.BoolVar(&flags.ForceReplace, "replace", false,
		"replace a release without a trusted signature, after all keys were lost")

	// The old name of --freeze.
	f.BoolVar(&flags.Freeze, "hold", false, "as --freeze")
	_ = f.MarkHidden("hold")
}

// check refuses flags that have no effect without --to, and reads the key before anything is
// changed.
func (flags *pushFlags) check(cmd *cobra.Command) error {
	var wrong settings.Problems
	// Without --to nothing is pushed, and a freeze that has no effect is dangerous.
	given := cmd.Flags().Changed
	for _, name := range []string{"key", "activate-in", "above", "freeze", "hold", "release", "replace"} {
		wrong.AddIf(flags.to == "" && given(name), "cannot use --%s without --to", name)
	}
	wrong.AddIf(flags.to != "" && flags.key == "", "cannot push without --key: servers load signed releases only")
	wrong.AddIf(flags.Lead < 0 || flags.Lead > mirror.MaxLead, "cannot use --activate-in %s: want 0s to %s",
		flags.Lead, mirror.MaxLead)
	if err := wrong.Err(); err != nil || flags.to == "" {
		return fail(exitUsage, "", err)
	}

	_, err := mirror.ParseLocation(flags.to)
	if err == nil {
		flags.Key, err = readKey(flags.key)
	}
	return withMirrorHint(err, flags.to)
}

// readKey reads the signing key.
func readKey(path string) (*mirror.Key, error) {
	key, err := mirror.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, fail(exitFailure, "give --key the file that `ninepocket snapshot trust init` wrote", err)
	}
	return key, err
}

// push pushes the release of the directory store, and the events of it.
func (flags *pushFlags) push(cmd *cobra.Command, dir *snapshot.Store) (done mirror.PushResult, err error) {
	bucket, err := openBucket(flags.to)
	if err != nil {
		return done, withMirrorHint(err, flags.to)
	}
	// Only a published snapshot has passed the guards.
	cur, err := dir.Current()
	if err != nil {
		return done, err
	}

	flags.Now = time.Now()
	flags.OnWarning = func(text string) { cmd.PrintErrln("note: " + text) }
	done, err = bucket.Push(cmd.Context(), dir, cur.ID, flags.PushOptions)
	if err != nil {
		return done, withMirrorHint(err, flags.to)
	}
	// The release is already made.
	if err := bucket.PushEvents(cmd.Context(), dir, flags.Key); err != nil {
		cmd.PrintErrf("note: hooks get the event with the next push: %v\n", err)
	}
	return done, nil
}

// pushAfter pushes if --to is given, after a release or rollback in the directory store. A
// script gets one document about both.
func (flags *pushFlags) pushAfter(cmd *cobra.Command, store *storeFlags, row publishedRow) error {
	var pushed mirror.PushResult
	var err error
	if flags.to != "" && store.dry {
		cmd.PrintErrln("note: then it would be pushed to " + withoutQuery(flags.to))
		flags.to = ""
	}
	if flags.to != "" {
		pushed, err = flags.push(cmd, store.dir())
	}
	switch {
	case err != nil:
		cmd.PrintErrf("note: store %q has it, and servers do not: `ninepocket snapshot push` continues from here\n",
			store.folder)
	case flags.to != "":
		row.Pushed = &pushed
	}

	if wantsJSON(cmd) {
		return errors.Join(term.JSON(cmd.OutOrStdout(), row), err)
	}
	if err != nil || flags.to == "" {
		return err
	}
	return flags.print(cmd, &pushed)
}

func (flags *pushFlags) print(cmd *cobra.Command, row *mirror.PushResult) error {
	return printResult(cmd, row, func(out *bufio.Writer) {
		if !row.Changed {
			fmt.Fprintf(out, "already published: %s (epoch %d of %s)\n", row.ID, row.Epoch, withoutQuery(flags.to))
			return
		}
		fmt.Fprintf(out, "pushed %s (epoch %d of %s): %s sent, %s were there\n",
			row.ID, row.Epoch, withoutQuery(flags.to), term.Size(row.Sent), term.Size(row.Reused))
		if !row.ActivateAt.IsZero() {
			fmt.Fprintf(out, "servers begin with it at %s\n", row.ActivateAt.Format(time.RFC3339))
		}
		if row.Freeze {
			fmt.Fprintln(out, "no push comes after it without --release")
		}
	})
}

func snapshotPush() *cobra.Command {
	var flags storeFlags
	var push pushFlags
	cmd := &cobra.Command{
		Use: "push --to URL --key FILE", Short: "Push the current snapshot to an S3-compatible store for many servers",
		Args: cobra.NoArgs,
		Long: "Sends the current snapshot to the S3-compatible store at --to, without sections that the store has.\n" +
			"Then it moves the pointer there, signed with --key. Servers that run with --store s3://… or\n" +
			"`snapshot pull --follow` load it. If two pushes run at the same time, one is refused. A push whose\n" +
			"answer was lost can be repeated.\n\n" +
			"Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the file that\n" +
			"AWS_SHARED_CREDENTIALS_FILE names.",
		Example: "  ninepocket snapshot push --store store --to 's3://cards/prod?region=eu-west-1' --key ops-2026.key",
		PreRunE: func(cmd *cobra.Command, _ []string) error { return push.check(cmd) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			row, err := push.push(cmd, flags.dir())
			if err != nil {
				return err
			}
			return push.print(cmd, &row)
		},
	}

	push.add(cmd, defaultLead)
	require(cmd, "to", "key")
	return flags.addStored(cmd)
}

func snapshotPull() *cobra.Command {
	var flags storeFlags
	var from string
	var trusted []string
	var follow bool
	cmd := &cobra.Command{
		Use:   "pull --from URL --publisher KEY",
		Short: "Pull the snapshot of an S3-compatible store into a local store", Args: cobra.NoArgs,
		Long: "Loads the newest snapshot of an S3-compatible store if a trusted key signed it and it is newer than\n" +
			"the local one. Downloads only missing sections and resumes interrupted downloads. Serve from this\n" +
			"store, and publish nothing else into it.",
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
			return pullOnce(cmd, cache, from)
		},
	}

	cmd.Flags().StringVar(&from, "from", "", "s3:// `URL` of the store that servers follow")
	cmd.Flags().StringSliceVar(&trusted, "publisher", nil, "trusted publisher key `ID:KEY` (can be repeated)")
	cmd.Flags().BoolVar(&follow, "follow", false, "go on until the command is ended")
	require(cmd, "from", "publisher")
	return flags.add(cmd)
}

// pullOnce pulls the newest snapshot.
func pullOnce(cmd *cobra.Command, cache *mirror.Follower, from string) error {
	done, err := cache.Pull(cmd.Context())
	if err != nil {
		return withMirrorHint(err, from)
	}

	if !done.Changed {
		return printLine(cmd, done, "nothing new: %s (epoch %d)", done.ID, done.Epoch)
	}
	return printLine(cmd, done, "pulled %s (epoch %d, signed by %s): %s downloaded", done.ID, done.Epoch,
		done.By, term.Size(done.Downloaded))
}

// trustFlags are the flags of the commands that change who may publish.
type trustFlags struct {
	to, key string
	force   bool
}

// add adds the flags to a command, and hints to its errors.
func (flags *trustFlags) add(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&flags.to, "to", "", "s3:// `URL` of the store that servers follow")
	cmd.Flags().StringVar(&flags.key, "key", "", "`FILE` with the key that signs")
	cmd.Flags().Bool("json", false, "print JSON")
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
func printTrust(cmd *cobra.Command, trust *mirror.Trust, key *mirror.Key) error {
	row := trustRow{Publisher: key.Publisher().String(), Version: trust.Version}
	names := make([]string, len(trust.Keys))
	for i, publisher := range trust.Keys {
		row.Keys = append(row.Keys, publisher.String())
		names[i] = publisher.ID
	}
	return printLine(cmd, row, "TRUST %d names: %s", trust.Version, strings.Join(names, " "))
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
		return printTrust(cmd, &made, key)
	}
	flags.add(cmd)
	require(cmd, "to")
	return cmd
}

func trustInit() *cobra.Command {
	var flags trustFlags
	cmd := flags.add(&cobra.Command{
		Use: "init NAME --key FILE", Short: "Make a publisher key", Args: cobra.ExactArgs(1),
		Long: "Makes a key in FILE, where there is none, and prints the text that servers get as a publisher. With\n" +
			"--to it also begins the list of keys (TRUST) in the store: from then on keys are added and retired\n" +
			"there, and servers follow.\n" +
			"Keep FILE readable for publishers only, and a second key somewhere else.",
		Example: "  ninepocket snapshot trust init ops-2026 --key ops-2026.key --to s3://cards/prod",
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := createOrReadKey(flags.key, args[0])
			if err != nil {
				return err
			}
			if flags.to == "" {
				row := trustRow{Publisher: key.Publisher().String()}
				return printLine(cmd, row, "%s", key.Publisher())
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
			if !wantsJSON(cmd) {
				cmd.Println(key.Publisher())
			}
			return printTrust(cmd, &made, key)
		},
	})
	cmd.Flags().BoolVar(&flags.force, "anew", false,
		"begin again after all keys were lost; servers follow once their publishers name this key")
	return cmd
}

func trustAdd() *cobra.Command {
	var flags trustFlags
	return flags.addChange(&cobra.Command{
		Use: "add PUBLISHER --to URL --key FILE", Short: "Add a publisher key",
		Args: cobra.ExactArgs(1),
		Long: "PUBLISHER is the output of `ninepocket snapshot trust init NAME --key OTHER` for the new key. --key\n" +
			"is a key that may sign already. Servers load the change with the next release.",
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
		Use: "retire NAME --to URL --key FILE", Short: "Revoke a publisher key", Args: cobra.ExactArgs(1),
		Long: "The key that signed the current release is not retired: push with another key first. Also remove\n" +
			"the retired key from the publishers of the servers, because a server without its cache trusts those.",
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
