package support

import (
	"bufio"
	"bytes"
	_ "embed" // the texts
	"encoding/json"
	"errors"
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

// maxLines is how many of the newest lines of a log a bundle has, and maxBytes the length of the longest.
const (
	maxLines = 2000
	maxBytes = 1 << 20
)

// texts has the messages of the program's log, and the keys of its figures with their types, a line each:
// `make generate` finds them in the sources.
//
//go:embed texts.txt
var texts string

// messages are those of texts, and figures its types by key.
var messages, figures = readTexts()

func readTexts() (said map[string]bool, types map[string]string) {
	said, types = map[string]bool{}, map[string]string{} // air: a pair
	for line := range strings.SplitSeq(strings.TrimSpace(texts), "\n") {
		key, of, is := strings.Cut(line, "\t")
		said[key] = !is // a line without a tab is a message
		types[key] = of
	}
	return said, types
}

// causes are the parts of errors that a bundle has. The rest of an error may name files and addresses.
var causes = []string{
	"no space left on device", "permission denied", "no such file or directory", "connection refused", "i/o timeout",
	"context deadline exceeded", "too many open files", "input/output error", "read-only file system",
	"connection reset by peer", "broken pipe", "cannot allocate memory", "no such host", "checksum", "WRONGPASS",
	"NOAUTH", "READONLY", "NOREPLICAS", "x509: ",
}

var (
	textLine  = regexp.MustCompile(`^(\S+) (DBG|INF|WRN|ERR)\S* (.*)$`)
	attribute = regexp.MustCompile(` ([a-z_]+)=("(?:[^"\\]|\\.)*"|\S*)`)
	levels    = []string{"DEBUG", "INFO", "WARN", "ERROR", "DBG", "INF", "WRN", "ERR"}
)

// filterLog writes the newest lines of a server's log. Of each it leaves the time, the level, a message of the
// program, and attributes whose values are figures. It skips lines of an access log and endless ones.
func filterLog(w *bytes.Buffer, log io.Reader) error {
	var newest []map[string]string
	lines := bufio.NewReaderSize(log, maxBytes)
	for {
		line, err := lines.ReadSlice('\n')
		endless := false
		for errors.Is(err, bufio.ErrBufferFull) {
			endless = true
			_, err = lines.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if attributes, is := parse(bytes.TrimSpace(line)); is && !endless && len(line) > 0 {
			newest = append(newest, attributes)
		}
		if len(newest) > 2*maxLines {
			newest = slices.Delete(newest, 0, maxLines)
		}
		if err != nil {
			break
		}
	}

	tenants := map[string]string{}
	for _, attributes := range newest[max(0, len(newest)-maxLines):] {
		writeLine(w, attributes, tenants)
	}
	return nil
}

// parse reads the attributes of a line in either format. A line of another program has none. An object without a
// message is a line of an access log, and no line of this log.
func parse(line []byte) (attributes map[string]string, is bool) {
	attributes = map[string]string{}
	var members map[string]any
	if json.Unmarshal(line, &members) == nil {
		for key, value := range members {
			attributes[key] = fmt.Sprint(value)
			if number, is := value.(float64); is {
				attributes[key] = strconv.FormatFloat(number, 'f', -1, 64)
			}
		}
		return attributes, attributes["msg"] != ""
	}

	parts := textLine.FindStringSubmatch(string(line))
	if parts == nil {
		return nil, true
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
	return attributes, true
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
	if !messages[message] {
		message = "(another line)"
	}
	w.WriteString(message)

	for _, key := range slices.Sorted(maps.Keys(attributes)) {
		value := attributes[key]
		switch {
		case value == "":
		case key == "tenant":
			if tenants[value] == "" {
				tenants[value] = fmt.Sprintf("t%d", len(tenants)+1)
			}
			value = tenants[value]
		case key == "cause":
			value = findCauses(value)
		default:
			value = figure(key, value)
		}
		if value != "" {
			fmt.Fprintf(w, " %s=%s", key, value)
		}
	}
	w.WriteByte('\n')
}

// figure reads a value as the type of its key, and writes it again; "" for any other value or key.
func figure(key, value string) string {
	number, noNumber := strconv.ParseInt(value, 10, 64)
	switch kind := figures[key]; {
	case kind == "Int" && noNumber == nil:
		return strconv.FormatInt(number, 10)
	case kind == "Bool" && (value == "true" || value == "false"), kind == "Snapshot" && snapshot.ValidID(value):
		return value

	case kind == "Duration" && noNumber == nil: // in JSON
		return time.Duration(number).String()
	case kind == "Duration":
		if took, err := time.ParseDuration(value); err == nil {
			return took.String()
		}
	case kind == "Time":
		if at, err := time.Parse(time.RFC3339, value); err == nil {
			return at.Format(time.RFC3339)
		}
	}
	return ""
}

// findCauses returns the known parts of an error.
func findCauses(text string) string {
	found := slices.DeleteFunc(slices.Clone(causes), func(cause string) bool { return !strings.Contains(text, cause) })
	return strconv.Quote(strings.Join(found, "; "))
}
