package settings

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"ninepocket/loader"
)

// Problems are what is wrong with flags or settings: all of it is told at once.
type Problems []error

// Add notes an error. A nil error is no problem.
func (wrong *Problems) Add(err error) { *wrong = append(*wrong, err) }

// AddIf notes a problem where bad is true.
func (wrong *Problems) AddIf(bad bool, format string, args ...any) {
	if bad {
		wrong.Add(fmt.Errorf(format, args...))
	}
}

// ParseTime reads the value of a flag, the zero time when it is not given.
func (wrong *Problems) ParseTime(flag, given, such string) time.Time {
	if given == "" {
		return time.Time{}
	}

	at, err := time.Parse(time.RFC3339, given)
	wrong.AddIf(err != nil, "cannot read --%s %q: want a time such as %s", flag, given, such)
	return at
}

// ParseInputs reads inputs of a build, KIND:PATH each.
func (wrong *Problems) ParseInputs(given []string) (all []loader.Input) {
	for _, text := range given {
		input, err := loader.ParseInput(text)
		wrong.Add(err)
		all = append(all, input)
	}
	return all
}

// Err joins the problems; nil when there are none.
func (wrong *Problems) Err() error { return errors.Join(*wrong...) }

// invalidValue is the error of a value that cannot be used; nil where there is no reason why.
func invalidValue(key, value, why string) error {
	if why == "" {
		return nil
	}
	return fmt.Errorf("cannot use %s %q: %s", key, Redact(value), why)
}

// CheckFolder refuses what looks like the address of a service. Taken for a folder, it would hide
// from the operator that the service is not used at all.
func CheckFolder(name, value string) error {
	if scheme, _, is := strings.Cut(value, "://"); is {
		return fmt.Errorf("cannot use %s %s://…: this version keeps it in a directory alone", name, scheme)
	}
	return nil
}

// passwords finds what may be a password: it looks for the form only, because a URL that cannot be
// parsed holds one too, and rather takes too much of a line.
var passwords = regexp.MustCompile(`(://[^:\n]*:).*@`)

// parameters finds passwords that are parameters of a URL, or members of a connection string.
var parameters = regexp.MustCompile(`(?i)\b((?:ssl)?password\s*=\s*)[^&\s"]+`)

// Redact hides passwords: redis://user:secret@host is redis://user:***@host, and ?password=secret is
// ?password=***.
func Redact(text string) string {
	return parameters.ReplaceAllString(passwords.ReplaceAllString(text, "${1}***@"), "${1}***")
}
