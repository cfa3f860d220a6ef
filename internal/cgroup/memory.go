// Package cgroup finds out how much memory the system lets this process use: the limit of its control group, which is
// what containers and service managers set, and which the Go runtime does not look at.
package cgroup

import (
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// unlimited is where limits begin that mean none: version 1 writes the largest multiple of a page for it.
const unlimited = 1 << 60

// MemoryLimit returns the limit in bytes, 0 for none. root is the root of the file system, as by os.DirFS("/"). A limit
// of a group above holds as well, so the lowest of them counts. What cannot be read is taken for no limit.
func MemoryLimit(root fs.FS) int64 {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	mounts, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return 0
	}
	lowest := int64(0)
	for line := range strings.Lines(string(groups)) {
		// 0::/system.slice/ninepocket.service in version 2, 5:memory,hugetlb:/docker/… in version 1
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, ok := strings.Cut(rest, ":")
		if !ok {
			continue
		}
		kind, file := "cgroup2", "memory.max"
		if controllers != "" {
			if !holds(controllers, "memory") {
				continue
			}
			kind, file = "cgroup", "memory.limit_in_bytes"
		}
		for _, m := range mountsOf(string(mounts), kind) {
			if limit := m.lowest(root, group, file); limit > 0 && (lowest == 0 || limit < lowest) {
				lowest = limit
			}
		}
	}
	return lowest
}

// mount is a cgroup file system: the group that its top is, and where that is mounted.
type mount struct{ group, at string }

// mountsOf picks the mounts of a kind that can hold memory limits from /proc/self/mountinfo.
func mountsOf(mountinfo, kind string) (found []mount) {
	for line := range strings.Lines(mountinfo) {
		// 35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate
		before, after, ok := strings.Cut(line, " - ")
		fields, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(system) < 3 || system[0] != kind {
			continue
		}
		if kind == "cgroup" && !holds(system[2], "memory") {
			continue
		}
		found = append(found, mount{group: unescape(fields[3]), at: unescape(fields[4])})
	}
	return found
}

// lowest is the lowest limit of a group and those above it as far as they are mounted, 0 for none.
func (m mount) lowest(root fs.FS, group, file string) int64 {
	below, ok := strings.CutPrefix(path.Clean(group), strings.TrimSuffix(m.group, "/"))
	if !ok || below != "" && below[0] != '/' {
		below = "/" // the group is outside of what is mounted: in a container the top of the mount is its own
	}
	found := int64(0)
	for below = path.Join("/", below); ; below = path.Dir(below) {
		if limit := readLimit(root, path.Join(m.at, below, file)); limit > 0 && (found == 0 || limit < found) {
			found = limit
		}
		if below == "/" {
			return found
		}
	}
}

func readLimit(root fs.FS, name string) int64 {
	text, err := fs.ReadFile(root, strings.TrimPrefix(path.Clean(name), "/"))
	if err != nil {
		return 0 // the top group has no such file
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n >= unlimited { // "max", or version 1's way to say so
		return 0
	}
	return n
}

// holds reports whether a list that commas separate has an item.
func holds(list, item string) bool {
	for s := range strings.SplitSeq(list, ",") {
		if s == item {
			return true
		}
	}
	return false
}

// unescape undoes mountinfo's octal escapes of blanks and backslashes.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
