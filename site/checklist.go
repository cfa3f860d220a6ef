package site

import "ninepocket/snapshot"

// perChecklist is the number of cards on a page of a checklist, which is that of a whole set.
const perChecklist = 2000

// pageSize returns the number of cards on a page of a set.
func (q SetQuery) pageSize() int {
	if q.Checklist {
		return perChecklist
	}
	return perSet
}

// view returns the view parameter of a set.
func (q SetQuery) view() string {
	if q.Checklist {
		return "checklist"
	}
	return viewName(q.List)
}

// clampPage returns the page to show of a list of so many entries, and the requested one if there is
// none of that number, else 0. Pages count from 1.
func clampPage(page, total, size int) (shown, missed int) {
	last := max((total+size-1)/size, 1)
	if page > last {
		return last, page
	}
	return max(page, 1), 0
}

// centsText returns the display price of a card for a script, "" without one.
func centsText(c *snapshot.Catalog, card int) string {
	if c.DisplayCents(card) < 0 {
		return ""
	}
	return decimal(c.DisplayCents(card))
}
