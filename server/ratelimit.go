package server

import (
	"ninepocket/access"
	"ninepocket/wire"
)

// appendRateLimitPolicy appends the value of the RateLimit-Policy header (decision 10):
// "minute";q=30;w=60, "day";q=2000;w=86400.
func appendRateLimitPolicy(dst []byte, minute, day access.LimitState) []byte {
	dst = wire.AppendInt(dst, `"minute";q=`, minute.Limit)
	return append(wire.AppendInt(dst, `;w=60, "day";q=`, day.Limit), `;w=86400`...)
}

// appendRateLimit appends the value of the RateLimit header (decision 10): "minute";r=29;t=41,
// "day";r=1998;t=3600.
func appendRateLimit(dst []byte, minute, day access.LimitState) []byte {
	dst = wire.AppendInt(dst, `"minute";r=`, minute.Remaining)
	dst = wire.AppendInt(dst, `;t=`, minute.Wait)
	dst = wire.AppendInt(dst, `, "day";r=`, day.Remaining)
	return wire.AppendInt(dst, `;t=`, day.Wait)
}
