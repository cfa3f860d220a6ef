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

// Scheme begins the URL of a bucket.
const Scheme = "s3://"

// Location is the URL of a bucket: s3://BUCKET/PREFIX?endpoint=URL&region=REGION.
type Location struct {
	Bucket   string
	Prefix   string // "" or ends with a slash
	Endpoint string // "" is Amazon's in the region
	Region   string
}

// ErrLocation reports an invalid URL of a bucket.
var ErrLocation = errors.New("want s3://BUCKET/PREFIX?endpoint=https://HOST&region=REGION")

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	prefixName = regexp.MustCompile(`^([A-Za-z0-9._-]+/)*$`)
	regionName = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
)

// ParseLocation parses the URL of a bucket. Its errors do not contain the URL, which may have a
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

// String names the location in messages. It contains no secret.
func (p Location) String() string { return Scheme + p.Bucket + "/" + p.Prefix }

// errCredentials reports missing credentials.
var errCredentials = errors.New("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE")

// credentials returns the credentials of a request from the environment, or from a file. The file is
// read again for each request, so that it can be replaced to rotate them.
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

// credentialsFrom returns the credentials that named values give.
func credentialsFrom(value func(name string) string) (aws.Credentials, error) {
	found := aws.Credentials{
		AccessKeyID:     value("AWS_ACCESS_KEY_ID"),
		SecretAccessKey: value("AWS_SECRET_ACCESS_KEY"),
		SessionToken:    value("AWS_SESSION_TOKEN"),
	}
	if found.AccessKeyID == "" || found.SecretAccessKey == "" {
		return found, errCredentials
	}
	return found, nil
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
