//go:build clients

package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxDaily is the number of requests that a mirror may send a day, without faults.
const maxDaily = 7

// TestMirrors takes a catalog by the bulk and by pages, follows two releases, and loses its
// place, with cuts throughout.
func TestMirrors(t *testing.T) {
	t.Parallel()
	for _, language := range languages {
		t.Run(language.name, func(t *testing.T) {
			t.Parallel()
			program := language.program(t)
			d := startDemo(t, 2)
			o := d.order(t, "mirror")
			o.Key = d.Keys["pro"]

			// The first files are cut twice: received bytes are not requested again.
			first := d.mirror(t, program, o, func(n int, r *http.Request) Fault {
				return Fault{CutWithin: strings.HasPrefix(r.URL.Path, "/v1/bulk/") && n < 4}
			})
			walked := o
			walked.Key = d.Keys["free"]
			walked.Path = t.TempDir()
			compareRows(t, d.mirror(t, program, walked, without).Rows, first.Rows)

			// Two days later it equals a fresh mirror.
			d.publish()
			d.mirror(t, program, o, cutOnce)
			d.publish()
			again := d.mirror(t, program, o, cutOnce)
			fresh := o
			fresh.Path = t.TempDir()
			compareRows(t, again.Rows, d.mirror(t, program, fresh, without).Rows)
			compareRows(t, d.mirror(t, program, walked, without).Rows, again.Rows)

			// The server no longer knows this place: the whole catalog again.
			want := d.mirror(t, program, o, without)
			losePlace(t, o.Path)
			compareRows(t, d.mirror(t, program, o, without).Rows, want.Rows)

			// A catalog without permission for bulk has no files, and none to wait for: it is read page by page.
			d.mapping = t.TempDir()
			reserved := []byte("[synth]\nredistribute = false\n")
			if err := os.WriteFile(filepath.Join(d.mapping, "feeds.toml"), reserved, 0o600); err != nil {
				t.Fatal(err)
			}
			d.publish()
			fresh.Path = t.TempDir()
			compareRows(t, d.mirror(t, program, o, without).Rows, d.mirror(t, program, fresh, without).Rows)
		})
	}
}

func without(int, *http.Request) Fault { return Fault{} }

// cutOnce cuts the second and third request, once before the server has it and once after.
func cutOnce(n int, _ *http.Request) Fault {
	return Fault{CutAfter: n == 2, CutWithin: n == 3}
}

// mirror runs the job of a mirror through a proxy.
func (d *demo) mirror(t *testing.T, program []string, o order, script Script) outcome {
	t.Helper()
	proxy := NewProxy(d.API, script)
	defer proxy.Close()
	o.BaseURL = proxy.URL
	o.Deadline = 30
	_, err := os.Stat(filepath.Join(o.Path, "mirror.json"))
	isFirst := err != nil

	got := run(t, program, o)
	if got.Error != nil {
		t.Fatalf("the mirror failed: %+v", *got.Error)
	}
	if len(got.Rows) < demoCards/2 {
		t.Fatalf("the mirror has %d cards", len(got.Rows))
	}
	seen, asked := proxy.Seen()
	if !isFirst && asked > maxDaily {
		t.Errorf("an update took %d requests", asked)
	}
	whole := map[string]int{}
	for _, answer := range seen {
		if strings.HasPrefix(answer.Path, "/v1/bulk") && answer.Status == http.StatusOK {
			whole[answer.Path]++
		}
	}
	for path, times := range whole {
		if times > 1 && path != "/v1/bulk" || times > 60 {
			t.Errorf("%s was sent whole %d times: downloads go on, lists are asked for after a pause", path, times)
		}
	}
	return got
}

// losePlace gives a mirror an unknown snapshot.
func losePlace(t *testing.T, folder string) {
	t.Helper()
	name := filepath.Join(folder, "mirror.json")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`"snapshot_id": ?"[^"]+"`)
	text = id.ReplaceAll(text, []byte(`"snapshot_id":"20200101T000000Z-0000000000000000"`))
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}
