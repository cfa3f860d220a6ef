package settings

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ninepocket/loader"
)

// Problems are the problems of flags or settings, which are reported together.
type Problems []error

// Add adds an error. Err ignores nil.
func (wrong *Problems) Add(err error) { *wrong = append(*wrong, err) }

// AddIf adds an error if bad is true.
func (wrong *Problems) AddIf(bad bool, format string, args ...any) {
	if bad {
		wrong.Add(fmt.Errorf(format, args...))
	}
}

// ParseTime parses the value of a flag; the zero time if it is not given.
func (wrong *Problems) ParseTime(flag, given, such string) time.Time {
	if given == "" {
		return time.Time{}
	}

	at, err := time.Parse(time.RFC3339, given)
	wrong.AddIf(err != nil, "cannot read --%s %q: want a time such as %s", flag, given, such)
	return at
}

// ParseInputs parses inputs of a build, KIND:PATH each.
func (wrong *Problems) ParseInputs(given []string) (all []loader.Input) {
	for _, text := range given {
		input, err := loader.ParseInput(text)
		wrong.Add(err)
		all = append(all, input)
	}
	return all
}

// Err joins the problems; nil if there are none.
func (wrong *Problems) Err() error { return errors.Join(*wrong...) }

// invalidValue returns the error of an invalid value; nil if why is "".
func invalidValue(key, value, why string) error {
	if why == "" {
		return nil
	}
	return fmt.Errorf("cannot use %s %q: %s", key, Redact(value), why)
}

// CheckFolder refuses the address of a service. If it were used as a folder, the operator would not
// notice that the service is not used.
func CheckFolder(name, value string) error {
	if scheme, _, is := strings.Cut(value, "://"); is {
		return fmt.Errorf("cannot use %s %s://…: this version keeps it in a directory alone", name, scheme)
	}
	return nil
}

// passwords matches possible passwords in a URL. It uses no parser, because an invalid URL may have
// a password too, and rather matches too much of a line.
var passwords = regexp.MustCompile(`(://[^:\n]*:).*@`)

// parameters matches passwords in parameters of a URL, or in a connection string, and what may be misspelt ones.
var parameters = regexp.MustCompile(`(?i)\b([a-z_]*(?:p[a-z]*w[a-z]*|pass)\s*=\s*)[^&\s"]+`)

// hooks matches what of a file may be a secret of [notify].
var hooks = regexp.MustCompile(`\b((?:secret|url)"?\s*=\s*).*|whsec_\S*`)

// redactLines hides passwords and hooks in lines of a file.
func redactLines(text string) string { return hooks.ReplaceAllString(Redact(text), "${1}***") }

// Redact hides passwords: redis://user:secret@host is redis://user:***@host, and ?password=secret is
// ?password=***.
func Redact(text string) string {
	return parameters.ReplaceAllString(passwords.ReplaceAllString(text, "${1}***@"), "${1}***")
}
