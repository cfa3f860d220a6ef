// Package calendar counts time in days and credit periods, both of UTC.
package calendar
