package limiter

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/redis/rueidis"
)

// parameters of the URL of a Redis. Those of TLS have the names that they have for PostgreSQL.
var parameters = []string{
	"password_file", "sentinel_username", "sentinel_password", "sentinel_password_file", "sslrootcert", "sslcert",
	"sslkey",
}

// ParseParameters parses what follows the ? of a URL. The error names every unknown parameter, and no value.
func ParseParameters(query string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, errors.New("its parameters cannot be read; % and & of a password are written as %25 and %26")
	}

	isKnown := func(name string) bool { return slices.Contains(parameters, name) }
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), isKnown)
	if len(unknown) > 0 {
		return nil, fmt.Errorf("it has no parameter %s: want %s", strings.Join(unknown, ", "),
			strings.Join(parameters, ", "))
	}
	return values, nil
}

// applyParameters sets logins and certificates by the parameters of a URL. Files are read each time, so that a
// new connection has what is in them by then.
func applyParameters(option *rueidis.ClientOption, query string) error {
	values, err := ParseParameters(query)
	if err != nil {
		return err
	}
	option.Sentinel.Username = values.Get("sentinel_username")
	option.Sentinel.Password = values.Get("sentinel_password")

	wrong := []error{
		readPassword(&option.Password, values.Get("password_file")),
		readPassword(&option.Sentinel.Password, values.Get("sentinel_password_file")),
	}
	root := values.Get("sslrootcert")
	cert := values.Get("sslcert")
	key := values.Get("sslkey")
	switch {
	case root+cert+key == "":
	case option.TLSConfig == nil:
		wrong = append(wrong, errors.New("sslrootcert, sslcert and sslkey want rediss://"))
	default:
		wrong = append(wrong, readCertificates(option.TLSConfig, root, cert, key))
	}
	return errors.Join(wrong...)
}

// readPassword reads a password from a file, if there is one.
func readPassword(into *string, file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	*into = strings.TrimRight(string(text), "\r\n")
	return err
}

// readCertificates reads who signs the certificates of Redis, and this server's own.
func readCertificates(config *tls.Config, root, cert, key string) error {
	var wrong error
	if root != "" {
		text, err := os.ReadFile(root)
		config.RootCAs = x509.NewCertPool()
		if err == nil && !config.RootCAs.AppendCertsFromPEM(text) {
			err = fmt.Errorf("%s has no certificate", root)
		}
		wrong = err
	}

	if cert+key != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		config.Certificates = []tls.Certificate{pair}
		wrong = errors.Join(wrong, err)
	}
	return wrong
}

// Reload reads the files of a URL again, tries to log in with it, and uses it for new connections. Present
// connections stay. It refuses a URL of another place, which needs a restart.
func (store *Store) Reload(ctx context.Context, url string) (taken bool, err error) {
	r, ok := store.options.dialer.(*redisDialer)
	if !ok || placeOf(url) != placeOf(*r.url.Load()) {
		return false, nil
	}
	target, _, err := parseURL(url, store.options.exchange)
	if err != nil {
		return false, err
	}

	client, err := rueidis.NewClient(target)
	if err == nil {
		err = client.Do(ctx, client.B().Ping().Build()).Error()
		client.Close()
	}
	if err != nil {
		return false, fmt.Errorf("cannot use redis at %s with what is configured now: %w", r.host, err)
	}
	r.url.Store(&url)
	return true, nil
}

// placeOf returns a URL without user and parameters.
func placeOf(url string) string {
	url, _, _ = strings.Cut(url, "?")
	scheme, rest, _ := strings.Cut(url, "://")
	return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
}
