package server

import (
	"strconv"

	"ninepocket/access"
)

// appendRateLimitPolicy appends the value of the RateLimit-Policy header (decision 10):
// "minute";q=30;w=60, "day";q=2000;w=86400.
func appendRateLimitPolicy(dst []byte, minute, day access.Policy) []byte {
	dst = append(dst, `"minute";q=`...)
	dst = strconv.AppendInt(dst, minute.Limit, 10)
	dst = append(dst, `;w=60, "day";q=`...)
	dst = strconv.AppendInt(dst, day.Limit, 10)
	return append(dst, `;w=86400`...)
}

// appendRateLimit appends the value of the RateLimit header (decision 10): "minute";r=29;t=41,
// "day";r=1998;t=3600.
func appendRateLimit(dst []byte, minute, day access.Policy) []byte {
	dst = append(dst, `"minute";r=`...)
	dst = strconv.AppendInt(dst, minute.Remaining, 10)
	dst = append(dst, `;t=`...)
	dst = strconv.AppendInt(dst, minute.Wait, 10)
	dst = append(dst, `, "day";r=`...)
	dst = strconv.AppendInt(dst, day.Remaining, 10)
	dst = append(dst, `;t=`...)
	return strconv.AppendInt(dst, day.Wait, 10)
}
