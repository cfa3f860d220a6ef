package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Scheme begins the URL of a store.
const Scheme = "s3://"

// Location is where a store is: s3://BUCKET/PREFIX?endpoint=URL&region=REGION.
type Location struct {
	Bucket   string
	Prefix   string // "" or ends with a slash
	Endpoint string // "" is the one of Amazon in the region
	Region   string
}

// ErrLocation means: a URL does not name a store.
var ErrLocation = errors.New("want s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixName = regexp.MustCompile(`^([A-Za-z0-9._-]+/)*$`)
	regionName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
)

// ParseLocation reads the URL of a store. Its errors do not hold the URL, which may have a
// password.
func ParseLocation(text string) (Location, error) {
	cannot := func(why string) (Location, error) {
		return Location{}, fmt.Errorf("cannot use the URL of a snapshot store: %s: %w", why, ErrLocation)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme+"://" != Scheme {
		return cannot("it does not begin with " + Scheme)
	}
	if u.User != nil {
		return cannot("it has a user, and credentials belong into the environment or a file")
	}

	location := Location{Bucket: u.Host, Prefix: strings.Trim(u.Path, "/"), Region: "us-east-1"}
	if location.Prefix != "" {
		location.Prefix += "/"
	}
	if !bucketName.MatchString(location.Bucket) {
		return cannot(fmt.Sprintf("%q is no name of a bucket", location.Bucket))
	}
	if !prefixName.MatchString(location.Prefix) || strings.Contains(location.Prefix, "..") {
		return cannot("its prefix has more than letters, digits, '.', '_', '-' and '/'")
	}

	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return cannot("its parameters cannot be read")
	}
	for name, values := range query {
		switch {
		case len(values) != 1:
			return cannot(name + " is given twice")
		case name == "endpoint":
			location.Endpoint = values[0]
		case name == "region":
			location.Region = values[0]
		default:
			return cannot(fmt.Sprintf("it has a parameter %q", name))
		}
	}

	if !regionName.MatchString(location.Region) {
		return cannot(fmt.Sprintf("%q is no region", location.Region))
	}
	if location.Endpoint != "" && !isEndpoint(location.Endpoint) {
		return cannot("its endpoint is no http:// or https:// URL of a host alone")
	}
	return location, nil
}

func isEndpoint(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil &&
		strings.Trim(u.Path, "/") == "" && u.RawQuery == "" && u.Fragment == ""
}

// String names the place in messages. There is no secret in it.
func (p Location) String() string { return Scheme + p.Bucket + "/" + p.Prefix }

// errCredentials means: nothing says who asks.
var errCredentials = errors.New("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE")

// credentials takes the credentials of a request from the environment, or from a file that is read
// again for each: whoever rotates them replaces the file.
func credentials(context.Context) (aws.Credentials, error) {
	file := os.Getenv("AWS_SHARED_CREDENTIALS_FILE")
	if file == "" {
		return credentialsFrom(os.Getenv)
	}

	b, err := os.ReadFile(file)
	if err != nil {
		return aws.Credentials{}, fmt.Errorf("cannot read credentials: %w", err)
	}

	section := profileOf(string(b), cmp.Or(os.Getenv("AWS_PROFILE"), "default"))
	return credentialsFrom(func(name string) string { return section[strings.ToLower(name)] })
}

// credentialsFrom makes credentials of named values.
func credentialsFrom(value func(name string) string) (aws.Credentials, error) {
	made := aws.Credentials{
		AccessKeyID:     value("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: value("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    value("AWS_SESSION_TOKEN"),
	}
	if made.AccessKeyID == "" || made.SecretAccessKey == "" {
		return made, errCredentials
	}
	return made, nil
}

// profileOf returns the settings of one profile of a credentials file.
func profileOf(text, profile string) map[string]string {
	settings := map[string]string{}
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, found := strings.CutPrefix(line, "["); found {
			inside = strings.TrimSpace(strings.TrimSuffix(name, "]")) == profile
			continue
		}
		if name, value, found := strings.Cut(line, "="); found && inside && !strings.HasPrefix(line, "#") {
			settings[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return settings
}
