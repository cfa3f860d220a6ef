package deploy_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ninepocket/deploy/fleet"
)

// inContainers is the plan of the demo with the names and folders of compose.yml.
func inContainers() *fleet.Plan {
	p := &fleet.Plan{
		Bind: "0.0.0.0", Places: map[string]string{fleet.Postgres: "postgres:5432", fleet.Store: "store:7070"},
		BaseURL: "${BASE_URL}", Password: "${POSTGRES_PASSWORD}", ServerPassword: "${SERVERS_PASSWORD}",
		AdminPassword: "${ADMIN_PASSWORD}", InternalPassword: "$$INTERNAL_PASSWORD",
		SentinelPassword: "${SENTINEL_PASSWORD}",
		AccessKey:        "${STORE_ACCESS_KEY}",
		Secret:           "${STORE_SECRET}", Publisher: "${PUBLISHER}", TrustedProxies: "10.89.7.0/24",
		Folder: func(name string) string {
			switch {
			case slices.Contains(fleet.Servers, name):
				return "/var/lib/ninepocket"
			case name == fleet.Proxy:
				return "/usr/local/etc/haproxy"
			}
			return "/data"
		},
	}

	p.Places[fleet.Proxy] = "proxy:8080"
	p.Places[fleet.Proxy+"/metrics"] = "proxy:8405"
	for _, name := range fleet.Redis {
		p.Places[name] = name + ":6379"
	}
	for _, name := range fleet.Sentinels {
		p.Places[name] = name + ":26379"
	}
	for _, name := range fleet.Servers {
		p.Places[name] = name + ":8080"
		p.Places[name+"/admin"] = name + ":8081"
	}
	return p
}

// service is a container in compose.yml.
type service struct {
	text    string
	image   string
	shared  bool // our own image, with the settings that all such containers share
	command []string
	env     map[string]string
}

var setting = regexp.MustCompile(`(?m)^ +([A-Z_0-9]+): ([^#\n]*?) *(?:#.*)?$`)

// settings are the variables of a text.
func settings(text string) map[string]string {
	env := map[string]string{}
	for _, found := range setting.FindAllStringSubmatch(text, -1) {
		env[found[1]] = strings.Trim(found[2], `"`)
	}
	return env
}

// services reads compose.yml, which is written so that this is easy: lists are JSON.
func services(t *testing.T, text string) (all map[string]service, ours map[string]string) {
	t.Helper()
	top, rest, found := strings.Cut(text, "\nservices:\n")
	rest, _, ended := strings.Cut(rest, "\nnetworks:\n")
	if !found || !ended {
		t.Fatal("compose.yml has no services")
	}

	all = map[string]service{}
	for _, part := range regexp.MustCompile(`(?ms)^  ([a-z0-9-]+):\n(.*?)(?:^$|\z)`).FindAllStringSubmatch(rest, -1) {
		one := service{text: part[2], env: settings(part[2]), shared: strings.Contains(part[2], "<<: *ninepocket")}
		if image := regexp.MustCompile(`(?m)^    image: (\S+)$`).FindStringSubmatch(part[2]); image != nil {
			one.image = image[1]
		}
		if list := regexp.MustCompile(`(?ms)^    command: (\[.*?\])$`).FindStringSubmatch(part[2]); list != nil {
			if err := json.Unmarshal([]byte(list[1]), &one.command); err != nil {
				t.Errorf("%s: its command is no JSON: %v", part[1], err)
			}
		}
		all[part[1]] = one
	}
	return all, settings(top)
}

// TestComposeIsTheDemo compares compose.yml with the processes of `make fleet-demo`: the same
// processes with the same flags and variables, from images of one version each.
func TestComposeIsTheDemo(t *testing.T) {
	text := read(t, "fleet/compose.yml")
	all, ours := services(t, text)
	plan := inContainers()
	names := slices.Concat(fleet.Redis, fleet.Sentinels, fleet.Servers,
		[]string{fleet.Postgres, fleet.Store, fleet.Proxy, "publisher"})
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, slices.Sorted(slices.Values(names))) {
		t.Fatalf("compose.yml has the services %v", got)
	}

	pinned := regexp.MustCompile(`^[a-z/]+:v?\d+\.\d+(\.\d+)?(-[a-z]+)?$`)
	for _, name := range names[:len(names)-1] {
		one := all[name]
		line, variables := plan.Command(name)
		if slices.Contains(fleet.Servers, name) {
			// The image has the program as its entry point.
			line = line[1:]
			one.env = ours
		}
		if one.shared != slices.Contains(fleet.Servers, name) || !one.shared && !pinned.MatchString(one.image) {
			t.Errorf("%s has the image %q, which is not of one version", name, one.image)
		}
		if !slices.Equal(one.command, line) {
			t.Errorf("%s runs\n%q, the demo\n%q", name, one.command, line)
		}

		if slices.Contains(fleet.Redis, name) {
			for line := range strings.Lines(plan.RedisConfig(name)) {
				if !strings.Contains(one.text, strings.TrimSpace(line)) {
					t.Errorf("%s does not begin with %s", name, line)
				}
			}
		}

		for _, variable := range variables {
			key, value, _ := strings.Cut(variable, "=")
			if one.env[key] != value {
				t.Errorf("%s: %s is %q, in the demo %q", name, key, one.env[key], value)
			}
		}
	}
	if !strings.Contains(text, "#   TO='"+plan.PublishTo()+"'\n") {
		t.Errorf("the first lines do not push to %s, which servers follow", plan.PublishTo())
	}

	// Files that a container reads from this folder are there, and folders that it writes have a volume.
	_, volumes, _ := strings.Cut(text, "\nvolumes:\n")
	for _, list := range regexp.MustCompile(`(?m)^    volumes: (\[.*\])$`).FindAllStringSubmatch(text, -1) {
		var mounts []string
		if err := json.Unmarshal([]byte(list[1]), &mounts); err != nil {
			t.Fatal(err)
		}
		for _, mount := range mounts {
			source, _, _ := strings.Cut(mount, ":")
			_, err := os.Stat(filepath.Join("fleet", source))
			if !strings.HasPrefix(source, "./") && !strings.Contains(volumes, "  "+source+":\n") ||
				strings.HasPrefix(source, "./") && err != nil {
				t.Errorf("nothing is at %s", mount)
			}
		}
	}
}

// TestFleetProxy lets HAProxy read its configuration with the variables of the demo.
func TestFleetProxy(t *testing.T) {
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		haproxy = tool(t, "/usr/sbin/haproxy")
	}
	if regexp.MustCompile(`version (1\.|2\.[0-5]\.)`).MatchString(output(t, haproxy, "-v")) {
		t.Skip("skipped: the proxy of a fleet, because this HAProxy is older than 2.6")
	}

	plan := inContainers()
	plan.Bind = "127.0.0.1"
	for name, place := range plan.Places {
		_, port, _ := strings.Cut(place, ":")
		plan.Places[name] = "127.0.0.1:" + port
	}

	_, variables := plan.Command(fleet.Proxy)
	cmd := exec.CommandContext(t.Context(), haproxy, "-c", "-f", "fleet/haproxy.cfg")
	cmd.Env = append(os.Environ(), variables...)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "WARNING") {
		t.Errorf("haproxy: %v\n%s", err, out)
	}
}
