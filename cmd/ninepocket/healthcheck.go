package main

import (
	"errors"
	"fmt"
	"net/http"
	neturl "net/url"

	"github.com/spf13/cobra"

	"ninepocket/internal/settings"
	"ninepocket/node"
)

func healthcheckCommand() *cobra.Command {
	var url, path string
	cmd := &cobra.Command{
		Use: "healthcheck", Short: "Ask a running server whether it is ready; exit 0 when it is", Args: cobra.NoArgs,
		Long: "Asks /readyz of the admin listener that file and environment configure, or the URL of --url.\n" +
			"It needs no shell and no curl, so that a container of the binary alone can check its own health.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if url == "" {
				layered, err := settings.ReadWithEnv(path)
				if err != nil {
					return fail(exitUsage, "", err)
				}
				url = "http://" + node.Loopback(layered.Admin) + "/readyz"
			} else if err := checkAsked(url); err != nil {
				return fail(exitUsage, "", fmt.Errorf("cannot use --url %q: %w", settings.Redact(url), err))
			}

			// A connection of its own: a kept one would not notice that nobody accepts.
			transport := &http.Transport{DisableKeepAlives: true}
			if err := node.CheckHealth(cmd.Context(), transport, url); err != nil {
				return fail(exitFailure, "", fmt.Errorf("cannot find the server healthy: %w", err))
			}
			return nil
		},
	}

	cmd.Flags().StringVar(&url, "url", "", "ask this `URL` for 200 (default: /readyz of the configured admin listener)")
	cmd.Flags().StringVar(&path, "config", "", "TOML configuration `FILE`")
	return cmd
}

// checkAsked wants an absolute http or https URL.
func checkAsked(s string) error {
	u, err := neturl.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want http://HOST or https://HOST, with a path")
	}
	return nil
}
