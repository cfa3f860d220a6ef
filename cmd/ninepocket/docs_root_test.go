package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// apart makes a mount namespace in which root may make users and folders without a trace on the
// system.
const apart = `mount --make-rprivate /
kept=$(mktemp -d)
mount -t tmpfs none "$kept"
cp -a /etc/. "$kept"
mount --move "$kept" /etc
rmdir "$kept"
mount -t tmpfs none /var/lib
mount -t tmpfs none /srv
runuser -u nobody -- true
`

// installsAsRoot pastes how systemd's user gets his directories, all but the line that needs systemd as
// init.
func (d *docsKit) installsAsRoot() {
	d.t.Helper()
	block := d.block("docs/INSTALL.md", "systemd-sysusers")
	if !d.has("a user of its own for the server", "systemd-sysusers", "--version") ||
		!d.has("a user of its own for the server", "unshare", "-m", "bash", "-e", "-c", apart) {
		return
	}

	sysusers, err := filepath.Abs("../../deploy/systemd/sysusers.conf")
	if err != nil {
		d.t.Fatal(err)
	}
	// The other user must be able to read the program and the tree.
	copied := "cp -rL my-cards $(type -p ninepocket) /srv\nchmod -R a+rX /srv\ncd /srv\n" +
		"export PATH=/srv:$PATH EDITOR=:\n"
	block = strings.NewReplacer("systemd-sysusers ", "systemd-sysusers "+sysusers+" ",
		"tcgcsv:tcgplayer", "native:my-cards", "systemctl enable", ": systemctl enable").Replace(block)
	said := d.pastes("unshare -m bash -e <<'ROOT'\n" + apart + copied + block +
		"stat -c %U /var/lib/ninepocket/s*/*\nROOT")
	says(d.t, said, "published ", "wrote /etc/ninepocket/ninepocket.toml", "\nninepocket\n")
}

// has says whether a command works here; the test logs in a line what it skips otherwise.
func (d *docsKit) has(what string, command ...string) bool {
	d.t.Helper()
	err := exec.Command(command[0], command[1:]...).Run()
	if err != nil {
		d.t.Run(what, func(t *testing.T) {
			t.Skipf("skipped: %s, because %s does not work here: %v", what, command[0], err)
		})
	}
	return err == nil
}
