package notify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Options say who is sent what.
type Options struct {
	URL    string // "" for none
	Secret string // that signs, whsec_ and base64
	// Events are the types that are sent; none for all.
	Events []string
	// Command is run with each event on its standard input: a program and its arguments.
	Command []string
}

// Enabled reports whether anybody is sent anything.
func (o *Options) Enabled() bool { return o.URL != "" || len(o.Command) > 0 }

// wants reports whether events of a type are sent.
func (o *Options) wants(kind string) bool {
	return len(o.Events) == 0 || kind == TypeTest || slices.Contains(o.Events, kind)
}

// secretPrefix begins a secret.
const secretPrefix = "whsec_"

// key returns the bytes of the secret.
func (o *Options) key() ([]byte, error) {
	text, ours := strings.CutPrefix(o.Secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || !ours || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("cannot use notify.secret: want whsec_ and 24 to 64 bytes in base64")
	}
	return key, nil
}

// Validate returns every problem of the options, joined. It has neither the secret nor the path of
// the URL.
func (o *Options) Validate() error {
	var all []error
	if o.URL != "" {
		_, err := o.key()
		all = append(all, checkURL(o.URL), err)
	}
	if o.Secret != "" && o.URL == "" {
		all = append(all, errors.New("cannot use notify.secret without notify.url"))
	}
	for _, kind := range o.Events {
		if !slices.Contains(Types, kind) {
			all = append(all, fmt.Errorf("cannot use notify.events: %q is none of %s", kind, strings.Join(Types, ", ")))
		}
	}
	if len(o.Command) > 0 && o.Command[0] == "" {
		all = append(all, errors.New("cannot use notify.command: the program is not named"))
	}
	return errors.Join(all...)
}

// checkURL refuses the URL of a hook that others could read on the way.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.User != nil || u.Fragment != "" {
		return errors.New("cannot use notify.url: want https://HOST/PATH, without a user")
	}
	local := u.Hostname() == "localhost" || net.ParseIP(u.Hostname()).IsLoopback()
	if u.Scheme == "https" || u.Scheme == "http" && local {
		return nil
	}
	return fmt.Errorf("cannot use notify.url %s: want https, or http to this machine", PublicURL(text))
}

// PublicURL returns a URL without what may be a secret: its host alone.
func PublicURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return ""
	case err != nil || u.Host == "":
		return "***"
	}
	return u.Scheme + "://" + u.Host + "/***"
}
