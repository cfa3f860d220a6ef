package support

import (
	"bufio"
	"bytes"
	_ "embed" // the texts
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"ninepocket/snapshot"
)

// maxLines is how many of the newest lines of a log a bundle has.
const maxLines = 2000

// texts has the messages of the program's log and the keys of their attributes, a line each: `make generate`
// finds them in the sources.
//
//go:embed texts.txt
var texts string

// known are the lines of texts.
var known = strings.Split(strings.TrimSpace(texts), "\n")

// causes are the parts of errors that a bundle has. The rest of an error may name files and addresses.
var causes = []string{
	"no space left on device", "permission denied", "no such file or directory", "connection refused", "i/o timeout",
	"context deadline exceeded", "too many open files", "input/output error", "read-only file system",
	"connection reset by peer", "broken pipe", "cannot allocate memory", "no such host", "checksum", "WRONGPASS",
	"NOAUTH", "READONLY", "NOREPLICAS", "x509: ",
}

var (
	textLine   = regexp.MustCompile(`^(\S+) (DBG|INF|WRN|ERR)\S* (.*)$`)
	attribute  = regexp.MustCompile(` ([a-z_]+)=("(?:[^"\\]|\\.)*"|\S*)`)
	plainValue = regexp.MustCompile(`^(-?\d{1,12}(\.\d{1,6})?|true|false)$`)
	levels     = []string{"DEBUG", "INFO", "WARN", "ERROR", "DBG", "INF", "WRN", "ERR"}
)

// filterLog writes the newest lines of a server's log. Of each it leaves the time, the level, a message of the
// program, and attributes whose values are figures.
func filterLog(w *bytes.Buffer, log io.Reader) error {
	var newest []string
	lines := bufio.NewScanner(log)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		newest = append(newest, lines.Text())
		if len(newest) > 2*maxLines {
			newest = slices.Delete(newest, 0, maxLines)
		}
	}

	tenants := map[string]string{}
	for _, line := range newest[max(0, len(newest)-maxLines):] {
		writeLine(w, parse(line), tenants)
	}
	return lines.Err()
}

// parse reads the attributes of a line in either format. A line of another program has none.
func parse(line string) map[string]string {
	attributes := map[string]string{}
	var members map[string]any
	if json.Unmarshal([]byte(line), &members) == nil {
		for key, value := range members {
			attributes[key] = fmt.Sprint(value)
			if number, is := value.(float64); is {
				attributes[key] = strconv.FormatFloat(number, 'f', -1, 64)
			}
		}
		return attributes
	}

	parts := textLine.FindStringSubmatch(line)
	if parts == nil {
		return nil
	}
	for _, pair := range attribute.FindAllStringSubmatch(parts[3], -1) {
		value, err := strconv.Unquote(pair[2])
		if err != nil {
			value = pair[2]
		}
		attributes[pair[1]] = value
	}
	attributes["time"] = parts[1]
	attributes["level"] = parts[2]
	// The message is not quoted: it ends where the first attribute begins.
	attributes["msg"] = attribute.Split(parts[3], 2)[0]
	return attributes
}

// writeLine writes the public part of a line. tenants grows by the tenants that the line names.
func writeLine(w *bytes.Buffer, attributes, tenants map[string]string) {
	if at, err := time.Parse(time.RFC3339, attributes["time"]); err == nil {
		w.WriteString(at.Format(time.RFC3339) + " ")
	}
	if level := attributes["level"]; slices.Contains(levels, level) {
		w.WriteString(level + " ")
	}
	message := attributes["msg"]
	if !slices.Contains(known, message) {
		message = "(another line)"
	}
	w.WriteString(message)

	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[key]
		switch {
		case !slices.Contains(known, key) || value == "":
			continue
		case key == "tenant":
			if tenants[value] == "" {
				tenants[value] = fmt.Sprintf("t%d", len(tenants)+1)
			}
			value = tenants[value]
		case key == "cause":
			value = findCauses(value)
		case !isFigure(value):
			continue
		}
		fmt.Fprintf(w, " %s=%s", key, value)
	}
	w.WriteByte('\n')
}

// isFigure reports whether a value is a number, a duration, a time or the id of a snapshot.
func isFigure(value string) bool {
	_, notDuration := time.ParseDuration(value)
	_, notTime := time.Parse(time.RFC3339, value)
	return plainValue.MatchString(value) || notDuration == nil || notTime == nil || snapshot.ValidID(value)
}

// findCauses returns the known parts of an error.
func findCauses(text string) string {
	found := slices.DeleteFunc(slices.Clone(causes), func(cause string) bool { return !strings.Contains(text, cause) })
	return strconv.Quote(strings.Join(found, "; "))
}
