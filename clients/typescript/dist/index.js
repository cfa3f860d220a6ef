export { Client } from "./client.js";
export { APIError, NinepocketError, Unreachable } from "./errors.js";
export { version } from "./transport.js";
