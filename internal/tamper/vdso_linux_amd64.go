package tamper

import (
	"bytes"
	"encoding/binary"
	"os"
	"strconv"
)

const (
	atIgnore = 1  // AT_IGNORE
	atVDSO   = 33 // AT_SYSINFO_EHDR
)

// hideVDSO takes the kernel's own library from a program that has just begun, by which it would
// read the clocks without a system call: the entry of the auxiliary vector that leads there says
// nothing any more. Where that fails, the program reads the true clocks.
func hideVDSO(pid int) {
	at, err := stackStart(pid)
	if err != nil {
		return
	}

	// The count of arguments, the arguments, a zero, the environment, a zero, then pairs.
	word := func() (value uint64, ok bool) {
		data := make([]byte, 8)
		if read(pid, at, data) != nil {
			return 0, false
		}
		at += 8
		return binary.NativeEndian.Uint64(data), true
	}

	count, ok := word()
	at += 8 * (count + 1)
	for value := uint64(1); ok && value != 0; {
		value, ok = word()
	}

	for ok {
		var kind uint64
		kind, ok = word()
		if kind == 0 {
			return
		}
		if kind == atVDSO {
			_ = write(pid, at-8, binary.NativeEndian.AppendUint64(nil, atIgnore))
			return
		}
		at += 8
	}
}

// stackStart is where a program's stack began.
func stackStart(pid int) (uint64, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // begins with the third
	return strconv.ParseUint(string(fields[28-3]), 10, 64)
}
