package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	// timeout is how long a store may be silent: before its answer, and between two bytes of it.
	answerTimeout = 30 * time.Second
	// minUploadRate is the least that an upload must reach, in bytes a second. It is slower than
	// any line that a catalog is published over.
	minUploadRate = 64 << 10
	// maxText bounds what is read of an object that is no section.
	maxText = 4 << 20
)

// ErrUnavailable means: a store does not answer, does not let this program in, or has no such
// bucket.
var ErrUnavailable = errors.New("the store is away or refuses it")

// What a store answers to a condition.
var (
	errNotFound           = errors.New("there is no such object")
	errNotModified        = errors.New("it is unchanged")
	errPreconditionFailed = errors.New("the condition does not hold")
)

// Bucket is a store of publications. It is safe for use by several goroutines.
type Bucket struct {
	location Location
	client   *s3.Client
	timeout  time.Duration
}

// Open returns the store at a place. It asks for nothing yet.
func Open(location Location) *Bucket {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	client := &http.Client{
		// A redirect would send the request, with its signature, to somebody else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: answerTimeout, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 8,
			DisableCompression: true, ForceAttemptHTTP2: true,
		},
	}

	options := s3.Options{
		Region: location.Region, HTTPClient: client, Credentials: aws.CredentialsProviderFunc(credentials),
		// A write whose answer was lost is looked at, never sent again by itself.
		Retryer: aws.NopRetryer{},
		// Other stores than Amazon's refuse checksums that they do not know. Ours are in the manifest.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if location.Endpoint != "" {
		options.BaseEndpoint = aws.String(location.Endpoint)
		options.UsePathStyle = true
	}
	return &Bucket{location, s3.New(options), answerTimeout}
}

// String names the store.
func (b *Bucket) String() string { return b.location.String() }

// key is the whole name of an object.
func (b *Bucket) key(name string) *string { return aws.String(b.location.Prefix + name) }

// errorTexts gives an error of the client its meaning.
func (b *Bucket) translateError(name string, err error) error {
	if err == nil {
		return nil
	}

	meaning := fmt.Errorf("%w: %w", ErrUnavailable, err)
	var answered interface{ HTTPStatusCode() int }
	var coded interface{ ErrorCode() string }
	// Without its bucket a store has nothing to say about an object.
	if errors.As(err, &answered) && (!errors.As(err, &coded) || coded.ErrorCode() != "NoSuchBucket") {
		switch answered.HTTPStatusCode() {
		case http.StatusNotFound:
			meaning = errNotFound
		case http.StatusNotModified:
			meaning = errNotModified
		case http.StatusPreconditionFailed, http.StatusConflict:
			meaning = errPreconditionFailed
		}
	}
	return fmt.Errorf("cannot ask %s for %s: %w", b, name, meaning)
}

// head returns the length of an object.
func (b *Bucket) head(ctx context.Context, name string) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)})
	if err != nil {
		return 0, b.translateError(name, err)
	}
	return aws.ToInt64(out.ContentLength), nil
}

// get reads a small object whole, unless its tag is the given one.
func (b *Bucket) get(ctx context.Context, name, unless string) (content []byte, tag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	in := &s3.GetObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)}
	if unless != "" {
		in.IfNoneMatch = aws.String(unless)
	}

	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		return nil, "", b.translateError(name, err)
	}
	defer out.Body.Close() //nolint:errcheck // only read

	content, err = io.ReadAll(io.LimitReader(out.Body, maxText+1))
	if err == nil && len(content) > maxText {
		err = fmt.Errorf("it has more than %d bytes", maxText)
	}
	if err != nil {
		return nil, "", b.translateError(name, err)
	}
	return content, aws.ToString(out.ETag), nil
}

// openFrom opens an object behind its first bytes. The reader ends with an error when no byte comes
// for a while.
func (b *Bucket) openFrom(ctx context.Context, name string, from int64) (io.ReadCloser, error) {
	ctx, cancel := context.WithCancel(ctx)
	in := &s3.GetObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)}
	if from > 0 {
		in.Range = aws.String(fmt.Sprintf("bytes=%d-", from))
	}

	timer := time.AfterFunc(b.timeout, cancel)
	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		timer.Stop()
		cancel()
		return nil, b.translateError(name, err)
	}
	return &idleTimeoutReader{out.Body, timer, b.timeout, cancel}, nil
}

// idleTimeoutReader is a body whose reader does not wait for ever.
type idleTimeoutReader struct {
	body    io.ReadCloser
	timer   *time.Timer
	timeout time.Duration
	cancel  context.CancelFunc
}

func (w *idleTimeoutReader) Read(b []byte) (int, error) {
	w.timer.Reset(w.timeout)
	return w.body.Read(b)
}

func (w *idleTimeoutReader) Close() error {
	w.timer.Stop()
	w.cancel()
	return w.body.Close()
}

// condition is what an object must be to be written.
type condition struct {
	absent bool
	tag    string // of what is there
}

// put writes an object, and returns its tag.
func (b *Bucket) put(ctx context.Context, name string, content []byte, only condition) (string, error) {
	return b.upload(ctx, name, bytes.NewReader(content), int64(len(content)), only)
}

// upload is put of what is read. The store gets a time that follows from its length.
func (b *Bucket) upload(
	ctx context.Context, name string, content io.ReadSeeker, length int64, only condition,
) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout+time.Duration(length/minUploadRate)*time.Second)
	defer cancel()
	in := &s3.PutObjectInput{
		Bucket: &b.location.Bucket, Key: b.key(name), Body: content, ContentLength: aws.Int64(length),
	}
	if only.absent {
		in.IfNoneMatch = aws.String("*")
	}
	if only.tag != "" {
		in.IfMatch = aws.String(only.tag)
	}

	out, err := b.client.PutObject(ctx, in)
	if err != nil {
		return "", b.translateError(name, err)
	}
	return aws.ToString(out.ETag), nil
}

// lastName returns the name of the last object whose name begins so and comes after another name;
// "" when there is none. Only who publishes asks it: servers never list.
func (b *Bucket) lastName(ctx context.Context, begin, after string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*b.timeout)
	defer cancel()

	found := ""
	pages := s3.NewListObjectsV2Paginator(b.client, &s3.ListObjectsV2Input{
		Bucket: &b.location.Bucket, Prefix: b.key(begin), StartAfter: b.key(after),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", b.translateError(begin, err)
		}
		for _, object := range page.Contents {
			found = max(found, aws.ToString(object.Key)[len(b.location.Prefix):])
		}
	}
	return found, nil
}

// remove removes an object.
func (b *Bucket) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)})
	return b.translateError(name, err)
}
