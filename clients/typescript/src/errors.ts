// All failures, as errors with their remedy.

const keyAdvice = "the key was refused: it may have been rotated or revoked, so give the client the new one";
const planAdvice = "use a key or plan that has it, or ask for less";
const advices: Record<string, string> = {
  unauthorized: keyAdvice,
  invalid_api_key: keyAdvice,
  plan_limit: planAdvice,
  insufficient_scope: planAdvice,
  sandbox_key: planAdvice,
  snapshot_gone: "begin again without the snapshot; a mirror takes the whole again",
  rate_limit_exceeded: "ask more slowly, or raise the deadline",
  quota_exceeded: "wait until the period ends, or take a larger plan",
  idempotency_conflict: "this job id was used with other selections: take a new one",
  temporarily_unavailable: "the service cannot answer now: try later",
};

/** The base of all errors of this package. */
export class NinepocketError extends Error {
  override name = "NinepocketError";
}

/** No whole response came, after all tries. `cause` has the last reason. */
export class Unreachable extends NinepocketError {
  override name = "Unreachable";

  constructor(operation: string, tries: number, cause: unknown) {
    const reason = cause instanceof Error ? String(cause.cause ?? cause) : String(cause);
    super(`cannot get a whole response to ${operation} in ${tries} tries: ${reason}; look at the address and the network`, { cause });
  }
}

/** A response that is an error. Branch on `code`, which is one of the error table. */
export class APIError extends NinepocketError {
  override name = "APIError";
  /** The remedy, or empty if the detail has it. */
  readonly advice: string;
  /** Each reason that the server names. */
  readonly problems: string[];

  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly requestId: string,
    /** Seconds to wait, if the server names them. */
    readonly retryAfter: number | undefined,
    /** Whether a page was requested by a cursor, which then is too old. */
    readonly cursorExpired: boolean,
  ) {
    const advice = advices[code] ?? "";
    super(`${code}: ${detail}${advice && "; " + advice} (request ${requestId || "without an id"})`);
    this.advice = advice;
    this.problems = detail.split("; ");
  }
}

/** The error of a response of either surface, or of a proxy that knows neither. */
export function refusal(status: number, headers: Headers, text: string, paging: boolean): APIError {
  let code = `http_${status}`;
  let detail = "the response is not an error of this service";
  let requestId = headers.get("X-Request-Id") ?? "";
  try {
    const said = JSON.parse(text);
    const fields = said.error ?? said;
    if (typeof fields.code === "string") {
      code = fields.code;
      detail = String(fields.detail ?? fields.message);
      requestId = String(fields.request_id ?? requestId);
    }
  } catch {
    // A page of a proxy has no code.
  }
  return new APIError(status, code, detail, requestId, retryAfter(headers), paging && status === 400);
}

/** The seconds of Retry-After, which has a number or a date. */
export function retryAfter(headers: Headers): number | undefined {
  const said = headers.get("Retry-After")?.trim();
  if (!said) return undefined;
  if (/^\d+$/.test(said)) return Number(said);
  const until = Date.parse(said);
  return Number.isNaN(until) ? undefined : Math.max(0, (until - Date.now()) / 1000);
}
