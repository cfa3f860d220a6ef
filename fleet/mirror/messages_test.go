package mirror

import (
	"context"
	"errors"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"ninepocket/internal/s3test"
)

// errorTexts are the messages of the table in docs/FLEET-STORE.md, Messages.
func errorTexts(t *testing.T) (all []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/FLEET-STORE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## Messages\n")
	if !found {
		t.Fatal("docs/FLEET-STORE.md has no table of messages")
	}

	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || strings.HasPrefix(line, "| message") {
			continue
		}
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[0], -1) {
			all = append(all, message[1])
		}
	}
	return all
}

// shaped is what an error must look like that says what the page shows: numbers and names differ.
func shaped(message string) *regexp.Regexp {
	text := regexp.QuoteMeta(message)
	text = regexp.MustCompile(`\d+`).ReplaceAllString(text, `\d+`)
	return regexp.MustCompile(strings.ReplaceAll(text, "…", ".+"))
}

// TestMessages provokes every message that the page explains, and wants the page to explain them as
// they are.
func TestMessages(t *testing.T) {
	provoke := map[string]func(w *world, model *s3test.Model) error{
		"the snapshot store ignores": func(w *world, model *s3test.Model) error {
			model.IgnoreConditions(true)
			return w.pushErr(w.build(1))
		},
		"is not among publishers": func(w *world, _ *s3test.Model) error {
			w.push(w.build(1))
			return pullErr(w.restarted(w.TempDir(), newKey(w.T, "ops-2030").Publisher()))
		},
		"retired": func(w *world, model *s3test.Model) error {
			return w.retired(model)
		},
		"refused as a rollback": func(w *world, model *s3test.Model) error {
			server := w.server()
			w.push(w.build(1))
			old := model.Get("prod/CURRENT")
			w.pulls(server, w.push(w.build(2)).ID, 2)
			model.Put("prod/CURRENT", old)
			return pullErr(server)
		},
		"and was served here as": func(w *world, model *s3test.Model) error {
			server := w.server()
			w.pulls(server, w.push(w.build(1)).ID, 1)
			model.Put("prod/CURRENT", nil)
			model.Put("prod/"+epochName(1), nil)
			w.push(w.build(2))
			return pullErr(server)
		},
		"somebody else published meanwhile": func(w *world, model *s3test.Model) error {
			first := w.build(1)
			second := w.build(2)
			var once atomic.Bool
			model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				if s3test.Of(http.MethodPut, "prod/CURRENT")(r) && !once.Swap(true) {
					w.push(second)
				}
				next.ServeHTTP(rw, r)
			})
			return w.pushErr(first)
		},
		"nobody knows": func(w *world, model *s3test.Model) error {
			var away atomic.Bool
			model.Set(func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
				if away.Load() || s3test.Of(http.MethodPut, "prod/CURRENT")(r) {
					away.Store(true)
					panic(http.ErrAbortHandler)
				}
				next.ServeHTTP(rw, r)
			})
			return w.pushErr(w.build(1))
		},
		"are frozen": func(w *world, _ *s3test.Model) error {
			o := w.pushing()
			o.Freeze = true
			if _, err := w.bucket.Push(w.Context(), w.dir, w.build(1), o); err != nil {
				return err
			}
			return w.pushErr(w.build(2))
		},
		"signature":   func(w *world, _ *s3test.Model) error { return w.changed("/CURRENT") },
		"manifest":    func(w *world, _ *s3test.Model) error { return w.changed("/manifests/") },
		"other bytes": func(w *world, _ *s3test.Model) error { return w.changed("/blobs/") },
		"away or refuses": func(w *world, model *s3test.Model) error {
			model.Set(s3test.Answer(func(*http.Request) bool { return true }, http.StatusForbidden))
			return w.pushErr(w.build(1))
		},
		"cannot begin with key": func(w *world, _ *s3test.Model) error {
			w.push(w.build(1))
			_, err := w.bucket.InitTrust(w.Context(), newKey(w.T, "other"), false, day)
			return err
		},
		"nothing is": func(w *world, _ *s3test.Model) error { return pullErr(w.server()) },
	}

	messages := errorTexts(t)
	if len(messages) != len(provoke) {
		t.Errorf("the page explains %d messages, %d are provoked", len(messages), len(provoke))
	}
	for _, message := range messages {
		done := false
		for part, do := range provoke {
			if !strings.Contains(message, part) {
				continue
			}
			done = true
			model := s3test.Start(t)
			err := do(newWorld(t, model.Store), model)
			if err == nil || !shaped(message).MatchString(err.Error()) {
				t.Errorf("the page explains\n%s\nand what is said is\n%v", message, err)
			}
		}
		if !done {
			t.Errorf("nothing provokes %q", message)
		}
	}
}

// pushErr is what a push fails with.
func (w *world) pushErr(id string) error {
	w.Helper()
	_, err := w.bucket.Push(w.Context(), w.dir, id, w.pushing())
	return err
}

// pullErr is what a pull fails with.
func pullErr(c *Follower) error {
	_, err := c.Pull(context.Background())
	return err
}

// changed is what a pull says of a store whose objects of a name lost a bit.
func (w *world) changed(object string) error {
	w.push(w.build(1))
	w.store.Set(s3test.Change(s3test.Of(http.MethodGet, object), func(body []byte) ([]byte, int) {
		body[len(body)/2] ^= 4
		return body, len(body)
	}))
	return pullErr(w.server())
}

// retired is what a server says that knows the TRUST in which a key is no more, and gets what that
// key signed.
func (w *world) retired(model *s3test.Model) error {
	next := newKey(w.T, "ops-2027")
	_, err := w.bucket.InitTrust(w.Context(), w.key, false, day)
	if err == nil {
		_, err = w.bucket.AddTrustedKey(w.Context(), w.key, next.Publisher(), day)
	}
	if err != nil {
		return err
	}

	w.push(w.build(1))
	old := model.Get("prod/CURRENT")
	server := w.server()
	w.key = next
	w.push(w.build(2))
	_, err = w.bucket.RetireTrustedKey(w.Context(), next, "ops-2026", day)
	if err == nil {
		_, err = server.Pull(w.Context())
	}
	model.Put("prod/CURRENT", old)
	return errors.Join(err, pullErr(server))
}
