package ninepocket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

// download brings a file of the bulk, going on from what is there, until it is what the API listed.
func (c *Client) download(ctx context.Context, path, name, sum string) error {
	out, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()

	for try := 1; ; try++ {
		have, err := sumOf(out)
		if err != nil || have == sum {
			return err
		}
		from, err := out.Seek(0, io.SeekEnd)
		if err != nil {
			return err
		}

		got, err := c.fetchRange(ctx, path, from, out)
		refused := asError(err)
		switch {
		case refused != nil && refused.Status == http.StatusRequestedRangeNotSatisfiable || err == nil && got == 0:
			// All is there, and it is damaged.
			err = errors.Join(fmt.Errorf("%s is not what the API listed", path), out.Truncate(0))
		case refused != nil && !refused.passes():
			return err
		case got > 0:
			try = 1 // it makes progress
		}
		if err != nil && (try >= c.options.MaxTries || !pause(ctx, waitBefore(try, refused))) {
			return err
		}
	}
}

// sumOf returns the SHA-256 of a file, in hex.
func sumOf(file *os.File) (string, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	hash := sha256.New()
	_, err := io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// fetchRange appends the bytes of a file from a place on. It has no deadline but progress.
func (c *Client) fetchRange(ctx context.Context, path string, from int64, out *os.File) (got int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch := time.AfterFunc(c.options.TryTimeout, cancel)
	defer watch.Stop()
	request, err := c.request(ctx, call{header: map[string]string{
		"Range": "bytes=" + strconv.FormatInt(from, 10) + "-", "Accept-Encoding": "identity",
	}}, c.base+path)
	if err != nil {
		return 0, err
	}
	response, err := c.options.HTTP.Do(request)
	if err != nil {
		return 0, &UnreachableError{"bulk_get", 1, err}
	}
	defer response.Body.Close()

	switch response.StatusCode {
	case http.StatusPartialContent:
	case http.StatusOK:
		err = out.Truncate(0) // the server does not go on: all comes again
	default:
		body, _ := readAll(response) // a part of it says as much
		err = refusal(response, body)
	}
	for err == nil {
		var n int64
		n, err = io.CopyN(out, response.Body, 64<<10)
		got += n
		watch.Reset(c.options.TryTimeout)
	}
	switch {
	case errors.Is(err, io.EOF):
		return got, nil
	case asError(err) == nil:
		err = &UnreachableError{"bulk_get", 1, err}
	}
	return got, err
}
