// Requests that are repeated until a response is whole, within one deadline.
import { APIError, NinepocketError, refusal, Unreachable } from "./errors.js";

export const version = "0.1.0";

export interface Options {
  /** The longest that a call may take with all its tries; 60. */
  deadlineSeconds?: number;
  /** The longest for one try; 20. */
  tryTimeoutSeconds?: number;
  /** 8. */
  maxTries?: number;
  /** `ninepocket-typescript/VERSION`. A browser sends its own. */
  userAgent?: string;
}

/** A whole response, with the members that openapi-fetch reads. */
export interface Answer {
  status: number;
  ok: boolean;
  headers: Headers;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/** The value that openapi-fetch makes in place of a Request, which is expensive and would be made twice. */
export class Asked {
  readonly method: string;

  constructor(
    readonly url: string,
    readonly init: RequestInit,
  ) {
    this.method = init.method ?? "GET";
  }
}

const repeated = new Set([429, 502, 503, 504]);
const [firstWait, longestWait] = [0.25, 8]; // seconds between tries, if the server names none
const [remembered, rememberedLength, longestRemembered] = [256, 8 << 20, 1 << 20]; // responses, for conditional requests
const idempotent = 540; // seconds in which a preview batch may be repeated; the server knows its key for 600

const inNode = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node !== undefined;

export class Transport {
  readonly base: string;
  readonly deadline: number;
  readonly tryTimeout: number;
  private readonly maxTries: number;
  private readonly headers: Record<string, string>;
  private readonly memory = new Map<string, { tag: string; text: string }>();
  private memoryLength = 0;

  constructor(base: string, key: string, options: Options) {
    if (!/^https?:\/\/[^/?#]+[^?#]*$/.test(base)) throw new NinepocketError(`cannot use the address "${base}": it must be like https://cards.example.com`);
    if (!/^[\x21-\x7e]*$/.test(key)) throw new NinepocketError("cannot use the key: it has characters that no key has");
    this.base = base.replace(/\/+$/, "");
    this.deadline = options.deadlineSeconds ?? 60;
    this.tryTimeout = options.tryTimeoutSeconds ?? 20;
    this.maxTries = Math.max(1, options.maxTries ?? 8);
    this.headers = { "X-API-Key": key };

    // A browser names itself, and another name would be refused across origins.
    if (inNode) this.headers["User-Agent"] = options.userAgent ?? `ninepocket-typescript/${version}`;
  }

  /** Sends the value of openapi-fetch until its response is whole; throws the error of the last try. */
  readonly fetch = async (asked: Asked): Promise<Answer> => {
    const given = asked.init.headers;
    const headers: Record<string, string> = { ...(given instanceof Headers ? Object.fromEntries(given) : (given as Record<string, string>)), ...this.headers };
    const remembers = asked.method === "GET" && asked.init.cache !== "no-store";
    const cached = remembers ? this.memory.get(asked.url) : undefined;
    if (cached) headers["If-None-Match"] = cached.tag;

    const paging = asked.url.includes("cursor=");
    const longest = (headers["Idempotency-Key"] ?? headers["idempotency-key"]) ? Math.min(this.deadline, idempotent) : this.deadline;
    const operation = `${asked.method} ${asked.url.slice(this.base.length).split("?")[0]}`;
    const answer = await this.repeat(operation, longest, asked.init.signal, async (signal) => {
      const response = await fetch(asked.url, { method: asked.method, headers, body: asked.init.body ?? null, signal, redirect: "error" });
      const text = await response.text();
      if (!response.ok && response.status !== 304) throw refusal(response.status, response.headers, text, paging);
      return { status: response.status, headers: response.headers, text };
    });

    const text = cached && answer.status === 304 ? cached.text : answer.text;
    if (remembers) this.remember(asked.url, answer.headers.get("ETag"), text);
    return { status: 200, ok: true, headers: answer.headers, text: async () => text, json: async () => parsed(operation, text) };
  };

  /** Repeats something while that helps: its error decides that, and the wait. */
  async repeat<T>(operation: string, longest: number, cancel: AbortSignal | null | undefined, once: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const end = performance.now() + longest * 1000;
    for (let tried = 1; ; tried++) {
      const control = new AbortController();
      const stop = () => control.abort(cancel?.reason);
      const timer = setTimeout(() => control.abort(new Error("the response came too slowly")), Math.min(this.tryTimeout * 1000, end - performance.now()));
      cancel?.addEventListener("abort", stop);
      let failure: unknown;
      try {
        cancel?.throwIfAborted();
        return await once(control.signal);
      } catch (reason) {
        if (cancel?.aborted || (reason instanceof APIError ? !repeated.has(reason.status) : reason instanceof NinepocketError)) throw reason;
        failure = reason instanceof APIError ? reason : new Unreachable(operation, tried, reason);
      } finally {
        clearTimeout(timer);
        cancel?.removeEventListener("abort", stop);
      }

      // Full jitter if the server names no time, and a little after the named time.
      const named = failure instanceof APIError ? failure.retryAfter : undefined;
      const wait = named === undefined ? Math.random() * Math.min(longestWait, firstWait * 2 ** tried) : named + Math.random() * Math.max(0.25, named / 10);
      if (tried >= this.maxTries || performance.now() + wait * 1000 >= end) throw failure;
      await new Promise((resolve) => setTimeout(resolve, wait * 1000));
    }
  }

  /** Sends one request for a file, and returns the response before its body is here. */
  async open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response> {
    const response = await fetch(this.base + path, { headers: { ...this.headers, ...headers }, signal, redirect: "error" });
    if (!response.ok) throw refusal(response.status, response.headers, await response.text(), false);
    return response;
  }

  private remember(url: string, tag: string | null, text: string): void {
    this.forget(url);
    if (!tag || text.length > longestRemembered) return;
    this.memory.set(url, { tag, text });
    this.memoryLength += text.length;
    while (this.memory.size > remembered || this.memoryLength > rememberedLength) this.forget(this.memory.keys().next().value as string);
  }

  private forget(url: string): void {
    this.memoryLength -= this.memory.get(url)?.text.length ?? 0;
    this.memory.delete(url);
  }
}

function parsed(operation: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (reason) {
    throw new Unreachable(operation, 1, reason); // the page of a proxy
  }
}
