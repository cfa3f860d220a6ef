package bench

import (
	"bytes"
	"strings"
	"testing"
)

// TestCommandRefuses expects errors for impossible measurements before anything is started.
func TestCommandRefuses(t *testing.T) {
	t.Parallel()
	f := func(want string, args ...string) {
		t.Helper()
		cmd := Command()
		cmd.SetArgs(args)
		cmd.SetOut(&bytes.Buffer{})
		cmd.SetErr(&bytes.Buffer{})
		if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}

	f(`cannot measure operation "nonsense": want one of get_card`, "--operation", "nonsense")
	f("without a key: give --key", "--url", "http://127.0.0.1:1")
	f("want http://HOST:PORT", "--url", "https://127.0.0.1:1", "--key", "x")
	f(`cannot measure the server "nethttp": want bare, body, memory`, "--beside", "nethttp")
	f("unknown flag: --rival", "--rival", "name=command")
	f("cannot publish into somebody else", "--swap", "--url", "http://127.0.0.1:1", "--key", "x")
	f("cannot read the task", "task", "nonsense")

	// Every flag with an invalid value.
	for flag, bad := range map[string][]string{
		"beside": {"nonsense"}, "cards": {"-1", "299"}, "connections": {"-1"}, "duration": {"-1s", "1ms", "fast"},
		"history-days": {"-1"}, "operation": {"nonsense"}, "rounds": {"-1"}, "seed": {"-1"},
		"every": {"-1s", "often"}, "load": {"-1", "NaN", "2"}, "swaps": {"-1"}, "url": {"nonsense", "ftp://127.0.0.1"},
	} {
		for _, value := range bad {
			f("", "--swap", "--"+flag+"="+value)
		}
	}
}

// TestCommandHelp expects all sub-commands in the help, but not the hidden one.
func TestCommandHelp(t *testing.T) {
	t.Parallel()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"--help"})

	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"requests a second", "--swap", "go run ./bench/figures loop"} {
		if !strings.Contains(out.String(), word) {
			t.Errorf("the help lacks %q", word)
		}
	}
	if strings.Contains(out.String(), "task TASK") {
		t.Error("the help shows task")
	}
}
