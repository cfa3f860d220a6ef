package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// apart makes a mount namespace in which root may make users and folders: nothing of it is left behind.
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

// installsAsRoot pastes the way from nothing to the first key as root, all but what needs systemd as init.
func (d *docsKit) installsAsRoot() {
	d.t.Helper()
	const page = "docs/INSTALL.md"
	if !d.has("a user of its own for the server", "systemd-sysusers", "--version") ||
		!d.has("a user of its own for the server", "unshare", "-m", "bash", "-e", "-c", apart) {
		return
	}

	sysusers, err := filepath.Abs("../../deploy/systemd/sysusers.conf")
	if err != nil {
		d.t.Fatal(err)
	}
	// The other user must be able to run the program.
	copied := "cp $(type -p ninepocket) /srv\nchmod a+rx /srv /srv/ninepocket\ncd /srv\nexport PATH=/srv:$PATH\n" +
		"systemd-sysusers " + sysusers + "\n"
	block := d.block(page, "ninepocket config check") + d.block(page, "as()") + d.block(page, "as ninepocket daily")
	said := d.pastes("unshare -m bash -e <<'ROOT'\n" + apart + copied + block +
		"stat -c %U /var/lib/ninepocket/*/*\nROOT")
	says(d.t, said, "good", "published ", "\nninepocket\n")
	if strings.Contains(said, "\nroot\n") {
		d.t.Errorf("root owns something of the server: %s", said)
	}
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
