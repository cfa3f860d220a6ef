package main

import (
	"fmt"
	"net/http"
	neturl "net/url"
	"slices"

	"github.com/spf13/cobra"

	"ninepocket/internal/settings"
	"ninepocket/node"
)

func healthcheckCommand() *cobra.Command {
	var url, path string
	schemes := []string{"http", "https"}
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
			} else if u, err := neturl.Parse(url); err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) {
				const text = "cannot use --url %q: want http://HOST or https://HOST, with a path"
				return fail(exitUsage, "", fmt.Errorf(text, settings.Redact(url)))
			}

			// A new connection: an open one would not show that the server no longer accepts.
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
