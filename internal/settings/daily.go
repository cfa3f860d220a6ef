package settings

import (
	"slices"
	"time"

	"ninepocket/feed"
	"ninepocket/loader"
)

// CheckDaily returns every problem of [feed] and [daily], joined.
func (c *Config) CheckDaily() error {
	var wrong Problems
	if c.Feed.Into != "" {
		pulling, err := c.Pulling()
		if err == nil {
			err = pulling.Validate()
		}
		wrong.AddIf(err != nil, "cannot use [feed]: %w", err)
	}

	for _, given := range slices.Concat(c.Daily.Sources, c.Daily.Prices) {
		if given == PulledFeed {
			continue
		}
		_, err := loader.ParseInput(given)
		wrong.AddIf(err != nil, "cannot use [daily]: %w", err)
	}
	wrong.AddIf(c.Daily.RetainSnapshots < 0, "cannot use daily.keep %d: want 0 or more", c.Daily.RetainSnapshots)
	return wrong.Err()
}

// Pulling returns the configured options of a pull. The error joins every problem.
func (c *Config) Pulling() (pulling feed.Options, err error) {
	var wrong Problems
	duration := func(key, text string) time.Duration {
		d, err := time.ParseDuration(text)
		wrong.AddIf(err != nil, "%s %q is no time such as 100ms", key, text)
		return d
	}
	pulling = feed.Options{
		Into: c.Feed.Into, URL: c.Feed.URL, Games: c.Feed.Games, UserAgent: c.Feed.UserAgent,
		ArchiveDays: c.Feed.ArchiveDays,
		Images:      c.Feed.Images, Interval: duration("interval", c.Feed.Interval),
		ImageInterval: duration("image_interval", c.Feed.ImageInterval),
	}
	return pulling, wrong.Err()
}
