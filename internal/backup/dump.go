package backup

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
)

// dumpName is the file with the database of a fleet.
const dumpName = "control.dump"

// ErrNoDump reports that PostgreSQL's own program is not there.
var ErrNoDump = errors.New("cannot back up the database: there is no pg_dump on the PATH")

// pgDump finds the program that dumps a database.
func pgDump() (string, error) {
	name, err := exec.LookPath("pg_dump")
	if err != nil {
		return "", ErrNoDump
	}
	return name, nil
}

// dump writes the database of a URL into a file. Its password stands in no list of processes.
func dump(ctx context.Context, database, into string) error {
	name, err := pgDump()
	if err != nil {
		return err
	}
	at, err := url.Parse(database)
	if err != nil {
		return errors.New("cannot back up the database: its address is no URL")
	}

	parameters := at.Query()
	password, given := at.User.Password()
	if !given {
		password = parameters.Get("password")
	}
	parameters.Del("password")
	at.RawQuery = parameters.Encode()
	if at.User != nil {
		at.User = url.User(at.User.Username())
	}

	cmd := exec.CommandContext(ctx, name, "--format=custom", "--file="+into, "--dbname="+at.String())
	cmd.Env = os.Environ()
	if password != "" {
		cmd.Env = append(cmd.Env, "PGPASSWORD="+password)
	}
	said, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("cannot back up the database: pg_dump: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return nil
}
