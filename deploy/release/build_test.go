// Package release_test builds releases as make release does, looks at what is in them, and installs,
// upgrades and downgrades them by the pages.
package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// depth is how much is tried: "" nothing but what is quick, "gate" one platform, "whole" all.
var depth = os.Getenv("NINEPOCKET_RELEASE")

const top = "../.."

// all are the platforms of a release.
var all = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"}

// newest is the version of the newest heading of the changelog.
var newest = sync.OnceValue(func() string {
	text, err := os.ReadFile(top + "/CHANGELOG.md")
	if err != nil {
		panic(err)
	}
	return string(regexp.MustCompile(`(?m)^## \[([0-9][^]]*)\]`).FindSubmatch(text)[1])
})

// head is the commit that is built, also where another one is checked out meanwhile.
var head = sync.OnceValue(func() string {
	out, err := exec.Command("git", "-C", top, "rev-parse", "HEAD").Output()
	if err != nil {
		panic(err)
	}
	return strings.TrimSpace(string(out))
})

// run runs a program and returns what it printed.
func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// platforms are those that are built.
func platforms() []string {
	if depth == "whole" {
		return all
	}
	return []string{runtime.GOOS + "/" + runtime.GOARCH}
}

// parts are the packages that this machine has the tools for.
var parts = sync.OnceValue(func() (all []string) {
	for part, name := range map[string]string{"deb": "dpkg-deb", "python": "python3", "typescript": "npm"} {
		if _, err := exec.LookPath(name); err == nil {
			all = append(all, part)
		}
	}
	return all
})

// settings are the variables of both builds of a test. The gate uses the installed compiler, make release-check the
// compiler of releases.
func settings() []string {
	env := []string{
		"VERSION=" + newest(), "PLATFORMS=" + strings.Join(platforms(), " "), "PARTS=" + strings.Join(parts(), " "),
	}
	if depth != "whole" {
		env = append(env, "GO_VERSION="+strings.TrimPrefix(strings.Fields(runtime.Version())[0], "go"))
	}
	return env
}

// built is a release of the checked-out commit, signed with a key that is made for it. All tests share it.
var built = sync.OnceValues(func() (folder string, err error) {
	if made := os.Getenv("NINEPOCKET_DIST"); made != "" {
		return filepath.Abs(made)
	}
	folder, err = os.MkdirTemp("", "np-release") // it outlives the first test
	if err == nil {
		err = exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder+"/key").Run()
	}
	if err == nil {
		_ = head()
		cmd := exec.Command(top+"/tools/release/build.sh", folder+"/dist")
		cmd.Env = append(append(os.Environ(), "SIGN_KEY="+folder+"/key"), settings()...)
		var out []byte
		out, err = cmd.CombinedOutput()
		if err != nil {
			err = errors.New(string(out))
		}
	}
	return folder + "/dist", err
})

// release returns the folder of the release, or skips.
func release(t *testing.T, wants string) string {
	t.Helper()
	if depth == "" || wants == "whole" && depth != "whole" {
		t.Skipf("skipped: %s, which make release-check does", t.Name())
	}
	for _, name := range []string{"git", "ssh-keygen", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("skipped: %s, because there is no %s", t.Name(), name)
		}
	}
	folder, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestMain removes the shared release.
func TestMain(m *testing.M) {
	code := m.Run()
	if depth != "" && os.Getenv("NINEPOCKET_DIST") == "" {
		if folder, err := built(); err == nil {
			_ = os.RemoveAll(filepath.Dir(folder))
		}
	}
	os.Exit(code)
}

// TestSameBytes builds the commit again: in a clone in another folder, with another umask, home and cache, and, where
// root runs the test, by another user. Every file must be the same.
func TestSameBytes(t *testing.T) {
	first := release(t, "gate")
	dir := t.TempDir()
	clone := filepath.Join(dir, "another", "folder")
	run(t, ".", nil, "git", "clone", "-q", "--no-hardlinks", top, clone)
	run(t, clone, nil, "git", "checkout", "-q", head())

	// The gate shares the compiler's cache, so that it takes a minute.
	env := append(settings(), "VERSION=v"+newest(), "SIGN_KEY=")
	command := []string{"bash", "-c", "umask 077; tools/release/build.sh dist/release"}
	if depth == "whole" {
		compiler, err := exec.LookPath("go")
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, "HOME="+dir, "GOCACHE="+dir+"/cache", "GOPATH="+dir+"/go", "GOMODCACHE="+dir+"/go/mod",
			"GOFLAGS=-modcacherw", "PATH="+filepath.Dir(compiler)+":/usr/local/bin:/usr/bin:/bin")
		if _, err := exec.LookPath("setpriv"); err == nil && os.Getuid() == 0 {
			for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
				run(t, ".", nil, "chmod", "o+x", parent)
			}
			run(t, ".", nil, "chown", "-R", "65534:65534", dir)
			command = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, command...)
		} else {
			t.Log("skipped: a build by another user, because this one is not root")
		}
	}
	t.Log(run(t, clone, env, command[0], command[1:]...))

	second := filepath.Join(clone, "dist/release")
	for _, name := range slices.Concat(names(t, first), names(t, second)) {
		if name == "SHA256SUMS.sig" || name == "ninepocket.signers" {
			continue
		}
		one, err := os.ReadFile(filepath.Join(first, name))
		two, err2 := os.ReadFile(filepath.Join(second, name))
		if err := errors.Join(err, err2); err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s is not the same in both builds: %v", name, err)
		}
	}
}

// TestRefusedBuilds wants a release refused before anything is built. Every missing tool is named, and files of others
// stay.
func TestRefusedBuilds(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"git", "make"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("skipped: refused builds, because there is no %s", name)
		}
	}

	for _, test := range []struct {
		env  string
		want []string
	}{
		{"PARTS=perl deb cobol", []string{"there is no a part perl", ", a part cobol"}},
		{"GO_VERSION=1.0.0", []string{"want go1.0.0"}},
		{"PARTS=", []string{"it has files of no release: notes.txt"}},
	} {
		dist := t.TempDir()
		foreign := filepath.Join(dist, "notes.txt")
		if err := os.WriteFile(foreign, nil, 0o600); err != nil {
			t.Fatal(err)
		}

		cmd := exec.CommandContext(t.Context(), top+"/tools/release/build.sh", dist)
		cmd.Env = append(append(os.Environ(), "SIGN_KEY=", "GOPROXY=off"), append(settings(), test.env)...)
		out, _ := cmd.CombinedOutput()
		for _, want := range test.want {
			if !strings.Contains(string(out), want) || cmd.ProcessState.ExitCode() != 2 {
				t.Errorf("%s: exit %d, %s, want %q", test.env, cmd.ProcessState.ExitCode(), out, want)
			}
		}
		if _, err := os.Stat(foreign); err != nil {
			t.Error(err)
		}
	}
}

// names are the files of a folder.
func names(t *testing.T, folder string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// unpacked returns the files of an archive by name, below its one folder. Each must be root's, of the commit's time,
// and in order.
func unpacked(t *testing.T, path string, epoch time.Time) map[string][]byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	decompressed, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}

	content := map[string][]byte{}
	last := ""
	for archive := tar.NewReader(decompressed); ; {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		if err != nil {
			t.Fatal(err)
		}
		if head.Uid != 0 || head.Gid != 0 || !head.ModTime.Equal(epoch) || head.Name < last || head.Mode&0o22 != 0 {
			t.Errorf("%s: %s has owner %d:%d, time %s, mode %o", path, head.Name, head.Uid, head.Gid, head.ModTime,
				head.Mode)
		}
		_, name, _ := strings.Cut(head.Name, "/")
		content[name], err = io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestArchives looks into each archive: a static binary of its platform, and all that goes with it.
func TestArchives(t *testing.T) {
	dist := release(t, "gate")
	seconds := strings.TrimSpace(run(t, top, nil, "git", "log", "-1", "--format=%cI", head()))
	epoch, err := time.Parse(time.RFC3339, seconds)
	if err != nil {
		t.Fatal(err)
	}
	elves := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	machs := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}

	for _, platform := range platforms() {
		system, machine, _ := strings.Cut(platform, "/")
		name := "ninepocket-" + newest() + "-" + system + "-" + machine
		files := unpacked(t, filepath.Join(dist, name+".tar.gz"), epoch)
		binary := bytes.NewReader(files["bin/ninepocket"])
		if system == "linux" {
			file, err := elf.NewFile(binary)
			if err != nil || file.Machine != elves[machine] || file.Section(".interp") != nil ||
				file.Section(".dynamic") != nil {
				t.Errorf("%s: not a static program of this machine: %v", name, err)
			}
		} else {
			file, err := macho.NewFile(binary)
			if err != nil || file.Cpu != machs[machine] {
				t.Errorf("%s: not a program of this machine: %v", name, err)
			}
		}

		wanted := []string{
			"share/man/man1/ninepocket.1", "share/man/man1/ninepocket-support-bundle.1",
			"share/bash-completion/completions/ninepocket", "share/zsh/site-functions/_ninepocket",
			"share/fish/vendor_completions.d/ninepocket.fish", "share/doc/ninepocket/LICENSE",
			"share/doc/ninepocket/THIRD_PARTY_LICENSES", "share/doc/ninepocket/INSTALL.md",
			"share/doc/ninepocket/CHANGELOG.md", "share/doc/ninepocket/COMPATIBILITY.md",
		}
		if system == "linux" {
			wanted = append(wanted, "lib/systemd/system/ninepocket.service", "lib/systemd/system/ninepocket.socket",
				"lib/sysusers.d/ninepocket.conf")
		}
		for _, want := range wanted {
			if len(files[want]) == 0 {
				t.Errorf("%s lacks %s", name, want)
			}
		}
		if !bytes.Contains(files["share/man/man1/ninepocket.1"], []byte(newest())) {
			t.Errorf("%s: the manual page does not name the version", name)
		}
		checkBill(t, filepath.Join(dist, name+".cdx.json"))
	}

	packages := map[string][]string{
		"go": {"ninepocket-go-%.tar.gz"}, "python": {"ninepocket-%-py3-none-any.whl", "ninepocket-%.tar.gz"},
		"typescript": {"ninepocket-%.tgz"},
	}
	for _, platform := range platforms() {
		if machine, is := strings.CutPrefix(platform, "linux/"); is {
			packages["deb"] = append(packages["deb"], "ninepocket_%_"+machine+".deb")
		}
	}
	for _, part := range append([]string{"go"}, parts()...) {
		for _, name := range packages[part] {
			if name := strings.Replace(name, "%", newest(), 1); !slices.Contains(names(t, dist), name) {
				t.Errorf("the release lacks %s", name)
			}
		}
	}
}

// checkBill wants a bill of materials of this version with parts.
func checkBill(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var bill struct {
		Metadata   struct{ Component struct{ Version string } }
		Components []any
	}
	if err := json.Unmarshal(text, &bill); err != nil || bill.Metadata.Component.Version != newest() ||
		len(bill.Components) < 10 {
		t.Errorf("%s: version %q, %d parts, %v", path, bill.Metadata.Component.Version, len(bill.Components), err)
	}
}

// TestSigned verifies the sums, and wants a changed byte noticed.
func TestSigned(t *testing.T) {
	dist := release(t, "gate")
	folder := t.TempDir()
	run(t, ".", nil, "cp", "-r", dist+"/.", folder)
	verify := `sha256sum --quiet --check --strict SHA256SUMS &&
		ssh-keygen -Y verify -f ninepocket.signers -I ninepocket -n ninepocket -s SHA256SUMS.sig <SHA256SUMS`
	run(t, folder, nil, "bash", "-e", "-c", verify)
	if n := strings.Count(run(t, folder, nil, "cat", "SHA256SUMS"), "\n"); n != len(names(t, folder))-3 {
		t.Errorf("the sums are of %d files of %q", n, names(t, folder))
	}

	for _, name := range []string{"SHA256SUMS", names(t, folder)[0]} {
		path := filepath.Join(folder, name)
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		bad := bytes.Clone(good)
		bad[len(bad)/2] ^= 1
		if err := os.WriteFile(path, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if exec.Command("bash", "-e", "-c", "cd "+folder+"; "+verify).Run() == nil {
			t.Errorf("a changed byte of %s is not noticed", name)
		}
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// native is the name of the archive for this machine, without its ending.
func native() string { return "ninepocket-" + newest() + "-" + runtime.GOOS + "-" + runtime.GOARCH }

// TestNative starts the program of the archive on this machine: its version is everywhere, and the first answer comes
// within a minute of the archive, by the README.
func TestNative(t *testing.T) {
	dist := release(t, "gate")
	folder := t.TempDir()
	for _, name := range []string{"SHA256SUMS", native() + ".tar.gz"} {
		run(t, ".", nil, "cp", filepath.Join(dist, name), folder)
	}
	block := blockOf(t, "tar -xzf ninepocket-", "bin/ninepocket demo")
	lines := strings.Split(strings.TrimSpace(block), "\n")

	began := time.Now()
	demo := lines[len(lines)-1] + " --listen 127.0.0.1:0 --admin 127.0.0.1:0 --ready-file ready.json"
	server := start(t, folder, nil, strings.Join(lines[:len(lines)-1], "\n")+"\nexec "+demo)
	ready := await(t, filepath.Join(folder, "ready.json"), server)
	if status, _ := get(t, ready.API+"/v1/games", ready.Keys["pro"]); status != http.StatusOK {
		t.Errorf("the first answer is %d", status)
	}
	took := time.Since(began)
	t.Logf("from the archive to the first answer: %s", took.Round(time.Millisecond))
	if took > time.Minute {
		t.Errorf("the first answer took %s", took)
	}

	for path, want := range map[string]string{
		"/openapi.json": `"version":"` + newest() + `"`, "/openapi.live.json": `"version":"` + newest() + `"`,
		"/docs": newest(),
	} {
		if _, body := get(t, ready.API+path, ""); !strings.Contains(body, want) {
			t.Errorf("%s does not say %s", path, want)
		}
	}
	said := run(t, folder, nil, native()+"/bin/ninepocket", "version", "--json")
	for _, want := range []string{
		`"version": "` + newest() + `"`, head(),
	} {
		if !strings.Contains(said, want) {
			t.Errorf("version --json says %s, without %s", said, want)
		}
	}
	if agent := agentOf(t, filepath.Join(folder, native(), "bin/ninepocket")); agent != "ninepocket/"+newest() {
		t.Errorf("a pull calls itself %q", agent)
	}
}
