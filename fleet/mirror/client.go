package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

const (
	// answerTimeout is how long a store may be silent: before its answer, and between two bytes of it.
	answerTimeout = 30 * time.Second
	// minUploadRate is the lowest rate of an upload, in bytes a second, from which its timeout follows.
	// It is slower than any connection that a catalog is published over.
	minUploadRate = 64 << 10
	// maxSmallObject limits the length of an object that is not a section.
	maxSmallObject = 4 << 20
)

// ErrUnavailable reports that a store does not answer, denies access, or has no such bucket.
var ErrUnavailable = errors.New("the store is away or refuses it")

// Answers of a store that the callers of get and put handle.
var (
	errNotFound           = errors.New("there is no such object")
	errNotModified        = errors.New("it is unchanged")
	errPreconditionFailed = errors.New("the condition does not hold")
)

// Bucket is a bucket with releases. It is safe for concurrent use.
type Bucket struct {
	location Location
	client   *s3.Client
	timeout  time.Duration
}

// Open returns the bucket at a location. It sends no request yet.
func Open(location Location) *Bucket {
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}
	client := &http.Client{
		// A redirect would send the request, with its signature, to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, DialContext: dialer.DialContext, TLSHandshakeTimeout: 10 * time.Second,
			ResponseHeaderTimeout: answerTimeout, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 8,
			DisableCompression: true, ForceAttemptHTTP2: true,
		},
	}

	options := s3.Options{
		Region: location.Region, HTTPClient: client, Credentials: aws.CredentialsProviderFunc(credentials),
		// A write whose answer was lost is checked by resolveWrite, and never repeated by the client.
		Retryer: aws.NopRetryer{},
		// Stores other than Amazon's refuse checksums that they do not know. Ours are in the manifest.
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if location.Endpoint != "" {
		options.BaseEndpoint = aws.String(location.Endpoint)
		options.UsePathStyle = true
	}
	return &Bucket{location, s3.New(options), answerTimeout}
}

// String names the bucket in messages.
func (b *Bucket) String() string { return b.location.String() }

// key returns the name of an object with the prefix of the location.
func (b *Bucket) key(name string) *string { return aws.String(b.location.Prefix + name) }

// translateError wraps an error of the client in the error of this package that says what it means.
func (b *Bucket) translateError(name string, err error) error {
	if err == nil {
		return nil
	}

	meaning := fmt.Errorf("%w: %w", ErrUnavailable, err)
	var answered interface{ HTTPStatusCode() int }
	var coded interface{ ErrorCode() string }
	// A 404 for the bucket says nothing about an object.
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

// head returns the length of an object and, if the store says it, when it was written.
func (b *Bucket) head(ctx context.Context, name string) (length int64, written time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	out, err := b.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)})
	if err != nil {
		return 0, time.Time{}, b.translateError(name, err)
	}
	return aws.ToInt64(out.ContentLength), aws.ToTime(out.LastModified), nil
}

// get reads a whole small object and its ETag. The error is errNotModified if it still has the ETag
// knownTag; "" is none.
func (b *Bucket) get(ctx context.Context, name, knownTag string) (content []byte, tag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	in := &s3.GetObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)}
	if knownTag != "" {
		in.IfNoneMatch = aws.String(knownTag)
	}

	out, err := b.client.GetObject(ctx, in)
	if err != nil {
		return nil, "", b.translateError(name, err)
	}
	defer out.Body.Close() //nolint:errcheck // only read

	content, err = io.ReadAll(io.LimitReader(out.Body, maxSmallObject+1))
	if err == nil && len(content) > maxSmallObject {
		err = fmt.Errorf("it has more than %d bytes", maxSmallObject)
	}
	if err != nil {
		return nil, "", b.translateError(name, err)
	}
	return content, aws.ToString(out.ETag), nil
}

// openFrom opens an object from an offset on. The reader fails if no byte arrives within the timeout.
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

// idleTimeoutReader is a body that fails after a silence of timeout.
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

// writeCondition is the condition of a write; the zero value is none.
type writeCondition struct {
	absent bool   // no object of the name exists
	tag    string // ETag of the object that is replaced
}

// put writes an object, and returns its ETag.
func (b *Bucket) put(ctx context.Context, name string, content []byte, only writeCondition) (string, error) {
	return b.upload(ctx, name, bytes.NewReader(content), int64(len(content)), only)
}

// upload is put from a reader, with a timeout that grows with the length.
func (b *Bucket) upload(
	ctx context.Context, name string, content io.ReadSeeker, length int64, only writeCondition,
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

// names returns the object names that have a prefix and are greater than after, ascending. Only publishers
// list, and the one server that sends hooks.
func (b *Bucket) names(ctx context.Context, prefix, after string) (names []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*b.timeout)
	defer cancel()

	in := &s3.ListObjectsV2Input{Bucket: &b.location.Bucket, Prefix: b.key(prefix)}
	if after != "" {
		in.StartAfter = b.key(after)
	}
	pages := s3.NewListObjectsV2Paginator(b.client, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, b.translateError(prefix, err)
		}
		for _, object := range page.Contents {
			names = append(names, aws.ToString(object.Key)[len(b.location.Prefix):])
		}
	}
	slices.Sort(names)
	return names, nil
}

// remove removes an object.
func (b *Bucket) remove(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	_, err := b.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &b.location.Bucket, Key: b.key(name)})
	return b.translateError(name, err)
}
