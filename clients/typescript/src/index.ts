export type { components, operations, paths } from "./api.js";
export { type ByIds, Client, type Schemas } from "./client.js";
export { APIError, NinepocketError, Unreachable } from "./errors.js";
export { type Options, version } from "./transport.js";
