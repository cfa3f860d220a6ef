package source

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/bodgit/sevenzip"
)

// The library allocates memory by a 7z archive's header before it checks that the memory is
// possible. A forged number of files costs it minutes and tens of gigabytes. So a separate process
// unpacks an archive, within bounds for its whole content, and passes the files on as a tar stream.

const (
	// unpackMemory bounds the memory of that process, on Linux. It holds a dictionary of 256 MB twice.
	unpackMemory = 1 << 30
	// unpackTimeout is how long that process may take until its next bytes.
	unpackTimeout = time.Minute
	// cannotUnpack begins that process's message about an archive.
	cannotUnpack = "cannot unpack the archive: "
)

// ServeUnpacking is the work of the process that Options.Unpack starts. It reads the 7z archive
// in and writes a tar archive of its files to out. Afterwards the process has no other use.
func ServeUnpacking(in *os.File, out io.Writer) error {
	if err := limitMemory(); err != nil {
		return err
	}
	if err := unpackSevenZip(in, out); err != nil {
		return fmt.Errorf("%s%w", cannotUnpack, err)
	}
	return nil
}

// unpackSevenZip writes the files of a 7z archive as a tar archive. The library uses values of an
// archive as indexes and panics on forged ones, so a panic is damage like any other.
func unpackSevenZip(in *os.File, out io.Writer) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = damaged(fmt.Errorf("%v", p))
		}
	}()

	info, err := in.Stat()
	if err != nil {
		return err
	}
	archive, err := sevenzip.NewReader(in, info.Size())
	if err != nil {
		return damaged(err)
	}

	packed := tar.NewWriter(out)
	for _, entry := range archive.File {
		if err := repack(packed, entry); err != nil {
			return fmt.Errorf("entry %q: %w", clip(entry.Name), err)
		}
	}

	return packed.Close()
}

// repack copies one entry. The reader of the tar archive decides whether the entry has a place in a
// catalog.
func repack(to *tar.Writer, entry *sevenzip.File) error {
	header := &tar.Header{Name: entry.Name, ModTime: entry.Modified, Typeflag: tar.TypeFifo}
	switch mode := entry.FileInfo().Mode(); {
	case mode.IsRegular():
		header.Typeflag = tar.TypeReg
		header.Size = int64(entry.UncompressedSize)
	case mode.IsDir():
		header.Typeflag = tar.TypeDir
	case mode&fs.ModeSymlink != 0:
		header.Typeflag = tar.TypeSymlink
	}

	if err := to.WriteHeader(header); err != nil || header.Typeflag != tar.TypeReg {
		return err
	}

	body, err := entry.Open()
	if err != nil {
		return damaged(err)
	}
	defer body.Close() //nolint:errcheck // only read

	// The library leaves it to its caller to compare the checksum.
	sum := crc32.NewIEEE()
	if _, err := io.Copy(to, io.TeeReader(body, sum)); err != nil {
		return damaged(err)
	}
	if entry.CRC32 != 0 && sum.Sum32() != entry.CRC32 {
		return damaged(errors.New("checksum mismatch"))
	}

	return to.Flush()
}

// openSevenZip opens the files of a 7z archive as a tar stream, which a process with this command
// line makes. Without a command line this process does, and only its own memory bounds the cost
// of a forged archive.
func openSevenZip(path string, command []string) (io.ReadCloser, error) {
	archive, err := os.Open(path)
	if err != nil {
		return nil, err
	}

	if len(command) == 0 {
		out, in := io.Pipe()
		go func() {
			err := unpackSevenZip(archive, in)
			if err != nil {
				err = &unpackError{err.Error()}
			}
			// Only read.
			_ = archive.Close()
			_ = in.CloseWithError(err)
		}()

		return out, nil
	}

	defer archive.Close() //nolint:errcheck // the process has it from here on
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // the process has it from here on

	u := &unpacking{out: out, process: exec.Command(command[0], command[1:]...)} //nolint:gosec // our own program
	u.process.Stdin = archive
	u.process.Stdout = in
	u.process.Stderr = &u.said
	if err := u.process.Start(); err != nil {
		_ = out.Close()
		return nil, fmt.Errorf("cannot start a process that unpacks: %w", err)
	}

	return u, nil
}

// unpacking is the output of a process that unpacks an archive.
type unpacking struct {
	process *exec.Cmd
	out     *os.File
	said    bytes.Buffer // on standard error
	err     error        // once the process has ended
}

// Read returns the output of the process. At the end, the exit status of the process shows
// whether the output is complete.
func (u *unpacking) Read(p []byte) (int, error) {
	if u.err != nil {
		return 0, u.err
	}
	if err := u.out.SetReadDeadline(time.Now().Add(unpackTimeout)); err != nil {
		return 0, err
	}

	n, err := u.out.Read(p)
	if err == nil {
		return n, nil
	}

	late := errors.Is(err, os.ErrDeadlineExceeded)
	if late {
		_ = u.process.Process.Kill()
	}

	u.err = u.outcome(u.process.Wait(), late)
	return n, u.err
}

// outcome words how the process ended.
func (u *unpacking) outcome(err error, late bool) error {
	said := u.said.String()
	switch {
	case late:
		return &unpackError{fmt.Sprintf("nothing came out of the archive for %v", unpackTimeout)}
	case err == nil:
		return io.EOF
	case slices.ContainsFunc(outOfMemory, func(words string) bool { return strings.Contains(said, words) }):
		return &unpackError{fmt.Sprintf("unpacking the archive takes more than %d MB of memory", unpackMemory>>20)}
	}

	if _, why, ours := strings.Cut(said, cannotUnpack); ours {
		said = why
	}

	first, _, _ := strings.Cut(strings.TrimSpace(said), "\n")
	return &unpackError{clip(first)}
}

// Close ends the process.
func (u *unpacking) Close() error {
	if u.err == nil {
		_ = u.process.Process.Kill()
		// It was killed.
		_ = u.process.Wait()
	}
	return u.out.Close()
}

// outOfMemory are words of a process that its bound of memory ended. A runtime that gets no page for
// itself may fault instead of saying so; a fault of the library is a panic, which is damage.
var outOfMemory = []string{"out of memory", "cannot allocate memory", "SIGSEGV: segmentation violation"}

// unpackError is the unpacking process's message about an archive.
type unpackError struct{ text string }

func (e *unpackError) Error() string { return e.text }
