package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"ninepocket/access/keys"
	"ninepocket/engine/bulk"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// retryBulk is when files that are being made are asked for again, in seconds.
const retryBulk = 5

// bulkFiles returns what the plan may have of a snapshot's files: without any while they are not made. It
// records problems.
func bulkFiles(r *Request, id string) (*bulk.Files, *wire.APIError) {
	if f := r.invalid(); f != nil {
		return nil, f
	}
	if !r.Plan.HasBulk() {
		return nil, refuse(wire.PlanLimit, "the plan %q has no bulk: use a key of a plan that has it, such as pro or "+
			"business; GET /v1/cards lists the catalog in pages", r.Plan.Name)
	}

	if files := r.Service.Bulk.Of(id); files != nil {
		return files, nil
	}
	if id != r.View.ID {
		return nil, &wire.APIError{
			Code: wire.SnapshotGone, Gone: true,
			Detail: "the files of this snapshot are not kept any more: GET /v1/bulk lists those of " + r.View.ID,
		}
	}
	return bulk.Describe(r.View), nil
}

// hasFile reports whether the plan may have a file: a year of history only where it has a year.
func hasFile(plan *keys.Plan, name string) bool {
	return name != bulk.History || plan.HistoryDays >= snapshot.HistoryDays
}

// listBulk handles GET /v1/bulk.
func listBulk(r *Request, out *Reply) *wire.APIError {
	id := cmp.Or(r.SnapshotID, r.View.ID)
	files, f := bulkFiles(r, id)
	if f != nil {
		return f
	}

	out.Bulk = files
	list := *files
	list.Made = ""
	list.Files = []bulk.File{}
	for _, file := range files.Files {
		if hasFile(r.Plan, file.Name) {
			file.URL = r.Service.BaseURL + bulkPath + "/" + id + "/" + file.Name
			list.Files = append(list.Files, file)
		}
	}
	out.Body, _ = json.Marshal(list) // texts and numbers
	if len(files.Files) == 0 && !files.Reserved {
		out.RetryAfter = retryBulk
	}
	return nil
}

// getBulk handles GET /v1/bulk/{snapshot_id}/{name}.
func getBulk(r *Request, out *Reply) *wire.APIError {
	if r.SnapshotID != "" && r.SnapshotID != r.Ref {
		r.problem("X-Snapshot-Id names another snapshot than the path: leave the header out")
	}
	files, f := bulkFiles(r, r.Ref)
	switch {
	case f != nil:
		return f
	case !slices.Contains(bulk.Names, r.FileName):
		return refuse(wire.NotFound, "there is no bulk file %s: GET /v1/bulk lists them", QuoteInput(r.FileName))
	case !hasFile(r.Plan, r.FileName):
		return refuse(wire.PlanLimit, "the plan %q has %d days of history: %s needs a plan with %d", r.Plan.Name,
			r.Plan.HistoryDays, r.FileName, snapshot.HistoryDays)
	case files.Reserved:
		return refuse(wire.NotFound, "this catalog has no bulk files: a source of it may not be passed on")
	}

	out.Bulk = files
	out.File = r.Service.Bulk.Open(files, r.FileName)
	if out.File == nil {
		return &wire.APIError{
			Code: wire.TemporarilyUnavailable, RetryAfter: retryBulk,
			Detail: "the file is being made: try again in " + strconv.Itoa(retryBulk) + " seconds",
		}
	}
	out.Tag, _ = strconv.ParseUint(out.File.About.SHA256[:16], 16, 64) // it is of 64 hexadecimal digits
	out.HasETag = true
	return nil
}
