package api

import (
	"slices"
	"strconv"

	"ninepocket/engine/bulk"
	"ninepocket/snapshot"
	"ninepocket/wire"
)

// retryBulk is when files that are being made are asked for again, in seconds.
const retryBulk = 5

// bulkFiles returns what the plan may have of a snapshot's files: without any while they are not made. It
// records problems.
func (r *Request) bulkFiles(id string) (*bulk.Files, *wire.APIError) {
	if f := r.invalid(); f != nil {
		return nil, f
	}
	if !r.Plan.HasBulk() {
		return nil, refuse(wire.PlanLimit, "the plan %q has no bulk: use a key of a plan that has it, such as pro or "+
			"business; GET /v1/cards lists the catalog in pages", r.Plan.Name)
	}

	if r.Service.Bulk != nil {
		if files := r.Service.Bulk.Of(id); files != nil {
			return files, nil
		}
	}
	if id != r.View.ID {
		return nil, &wire.APIError{
			Code: wire.SnapshotGone, Gone: true,
			Detail: "the files of this snapshot are not kept any more: GET /v1/bulk lists those of " + r.View.ID,
		}
	}
	files := bulk.Describe(r.View)
	files.Reserved = files.Reserved || r.Service.Bulk == nil
	return files, nil
}

// hasFile reports whether the plan may have a file: a year of history only where it has a year.
func (r *Request) hasFile(name string) bool {
	return name != bulk.History || r.Plan.HistoryDays >= snapshot.HistoryDays
}

// listBulk handles GET /v1/bulk.
func listBulk(r *Request, out *Reply) *wire.APIError {
	id := r.View.ID
	if r.SnapshotID != "" {
		id = r.SnapshotID
	}
	files, f := r.bulkFiles(id)
	if f != nil {
		return f
	}

	out.Bulk = files
	dst := wire.AppendText(out.Body, `{"snapshot_id":`, files.ID)
	dst = wire.AppendSeconds(dst, `,"snapshot_at":`, files.At)
	dst = wire.AppendSeconds(dst, `,"use_until":`, files.UseUntil().UnixMilli())
	dst = append(wire.AppendText(dst, `,"attribution":`, files.Attribution), `,"files":[`...)
	for i := range files.Files {
		file := &files.Files[i]
		if !r.hasFile(file.Name) {
			continue
		}
		dst = wire.AppendText(wire.AppendComma(dst), `{"name":`, file.Name)
		dst = wire.AppendText(dst, `,"media_type":`, bulk.MediaType(file.Name))
		dst = wire.AppendInt(append(dst, `,"encoding":"zstd"`...), `,"bytes":`, file.Bytes)
		dst = wire.AppendInt(dst, `,"rows":`, file.Rows)
		dst = wire.AppendText(dst, `,"sha256":`, file.SHA256)
		dst = wire.AppendText(dst, `,"url":`, r.Service.BaseURL+bulkPath+"/"+files.ID+"/"+file.Name)
		dst = append(dst, '}')
	}
	out.Body = append(dst, ']', '}')
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
	files, f := r.bulkFiles(r.Ref)
	switch {
	case f != nil:
		return f
	case !slices.Contains(bulk.Names, r.FileName):
		return refuse(wire.NotFound, "there is no bulk file %s: GET /v1/bulk lists them", QuoteInput(r.FileName))
	case !r.hasFile(r.FileName):
		return refuse(wire.PlanLimit, "the plan %q has %d days of history: %s needs a plan with %d", r.Plan.Name,
			r.Plan.HistoryDays, r.FileName, snapshot.HistoryDays)
	case files.Reserved:
		return refuse(wire.NotFound, "this catalog has no bulk files: a source of it may not be passed on")
	}

	out.Bulk = files
	about := files.Find(r.FileName)
	if about != nil {
		var err error
		out.File, err = r.Service.Bulk.Open(files, about)
		if err != nil {
			about = nil // it is made again
		}
	}
	if about == nil {
		return &wire.APIError{
			Code: wire.TemporarilyUnavailable, RetryAfter: retryBulk,
			Detail: "the file is being made: try again in " + strconv.Itoa(retryBulk) + " seconds",
		}
	}

	tag, _ := strconv.ParseUint(about.SHA256[:16], 16, 64) // it is of 64 hexadecimal digits
	out.Tag = tag
	out.HasETag = true
	return nil
}
