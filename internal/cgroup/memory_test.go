package cgroup

import (
	"strings"
	"testing"
	"testing/fstest"
)

// host builds a file system from "path: content" lines.
func host(files ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for _, f := range files {
		name, content, _ := strings.Cut(f, ": ")
		root[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(content, "|", "\n") + "\n")}
	}
	return root
}

const (
	v2    = "proc/self/mountinfo: 24 30 0:22 / /proc rw - proc proc rw|35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw"
	v1    = "proc/self/mountinfo: 33 24 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu|36 24 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory"
	slice = "proc/self/cgroup: 0::/system.slice/np.service"
)

func TestMemoryLimit(t *testing.T) {
	f := func(name string, want int64, files ...string) {
		t.Helper()
		if got := MemoryLimit(host(files...)); got != want {
			t.Errorf("%s: limit %d, want %d", name, got, want)
		}
	}
	f("no proc", 0)
	f("no mounts", 0, slice)
	f("v2, own", 500, v2, slice, "sys/fs/cgroup/system.slice/np.service/memory.max: 500")
	f("v2, none", 0, v2, slice, "sys/fs/cgroup/system.slice/np.service/memory.max: max")
	f("v2, above", 300, v2, slice, "sys/fs/cgroup/system.slice/np.service/memory.max: max", "sys/fs/cgroup/system.slice/memory.max: 300")
	f("v2, lower above", 300, v2, slice, "sys/fs/cgroup/system.slice/np.service/memory.max: 500", "sys/fs/cgroup/system.slice/memory.max: 300")
	f("v2, lower below", 200, v2, slice, "sys/fs/cgroup/system.slice/np.service/memory.max: 200", "sys/fs/cgroup/system.slice/memory.max: 300")
	f("v2, a neighbour's", 0, v2, slice, "sys/fs/cgroup/system.slice/np.service2/memory.max: 200")
	f("v2, container with its own name space", 700, v2, "proc/self/cgroup: 0::/", "sys/fs/cgroup/memory.max: 700")
	f("v2, container without", 700, "proc/self/mountinfo: 9 1 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw",
		"proc/self/cgroup: 0::/docker/abc", "sys/fs/cgroup/memory.max: 700")
	f("v2, below the container's", 600, "proc/self/mountinfo: 9 1 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw",
		"proc/self/cgroup: 0::/docker/abc/np", "sys/fs/cgroup/memory.max: 700", "sys/fs/cgroup/np/memory.max: 600")
	f("v2, a name that only begins alike", 700, "proc/self/mountinfo: 9 1 0:30 /docker/ab /sys/fs/cgroup ro - cgroup2 cgroup rw",
		"proc/self/cgroup: 0::/docker/abc", "sys/fs/cgroup/memory.max: 700", "sys/fs/cgroup/c/memory.max: 1")
	f("v1", 400, v1, "proc/self/cgroup: 4:cpu,cpuacct:/x|5:memory:/np", "sys/fs/cgroup/memory/np/memory.limit_in_bytes: 400",
		"sys/fs/cgroup/cpu/x/memory.limit_in_bytes: 1", "sys/fs/cgroup/memory/memory.limit_in_bytes: 9223372036854771712")
	f("v1, none", 0, v1, "proc/self/cgroup: 5:memory:/np", "sys/fs/cgroup/memory/np/memory.limit_in_bytes: 9223372036854771712")
	f("v1 beside v2", 400, v1+"|37 24 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw", "proc/self/cgroup: 5:memory:/np|0::/np",
		"sys/fs/cgroup/memory/np/memory.limit_in_bytes: 400")
	f("a blank in the mount point", 5, `proc/self/mountinfo: 35 24 0:30 / /sys/fs/c\040g rw - cgroup2 cgroup2 rw`, slice, "sys/fs/c g/memory.max: 5")
	f("nonsense", 0, v2, "proc/self/cgroup: nonsense|0:", "sys/fs/cgroup/memory.max: -")
}
