package api

import (
	"ninepocket/access"
	"ninepocket/access/keys"
	"ninepocket/mcp"
	"ninepocket/wire"
)

// Tools returns the tools of MCP as operations, in the order of their numbers. A tool call succeeds
// with any result: it counts, and the result contains its problems (decision 13).
func Tools(endpoint *mcp.Endpoint) (all []*Operation) {
	for number, name := range endpoint.Tools() {
		all = append(all, &Operation{
			Name: access.MCPOperation(name), Method: post, Surface: keys.Live,
			Run: func(r *Request, out *Reply) *wire.APIError {
				out.Body = r.Service.Tools.Call(out.Body, r.Message, number, mcp.Caller{
					View: r.View, Now: r.Now,
					Limits: mcp.Limits{HistoryDays: r.Plan.HistoryDays, Cards: r.Plan.MaxPrices},
				})
				return nil
			},
		})
	}
	return all
}
