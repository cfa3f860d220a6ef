package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
)

// profileDuration is how long an operation is driven for its profile.
const profileDuration = 5 * time.Second

// profile drives one more round of an operation on the measured server and saves its CPU profile of
// that time. The round is not counted, because a server is slower while it is profiled.
func (r *run) profile(ctx context.Context, op *Operation) error {
	c := r.contestants[0]
	if c.admin == "" {
		return fmt.Errorf("cannot profile %s: give --admin", op.Name)
	}

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		// The profile begins after a moment.
		_, err := c.drive(ctx, op, r.o.Connections, profileDuration+500*time.Millisecond)
		return err
	})
	group.Go(func() error { return c.saveProfile(ctx, filepath.Join(r.o.Profiles, op.Name+".pprof")) })
	return group.Wait()
}

func (c *contestant) saveProfile(ctx context.Context, file string) error {
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", c.admin, int(profileDuration.Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}

	client := http.Client{Timeout: profileDuration + answerTimeout}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("cannot profile %s: %w", c.name, err)
	}

	// The body was only read, so an error of Close means nothing.
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answered %d: %s", response.StatusCode, text)
	}
	if err != nil {
		return fmt.Errorf("cannot profile %s: %w", c.name, err)
	}
	return os.WriteFile(file, text, 0o600)
}
