package main
import "github.com/spf13/cobra"
func compareCommand(s *settings) *cobra.Command { return &cobra.Command{Use:"compare"} }
