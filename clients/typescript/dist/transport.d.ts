export declare const version = "1.0.0";
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
/** A whole answer, as much of a Response as openapi-fetch looks at. */
export interface Answer {
    status: number;
    ok: boolean;
    headers: Headers;
    text(): Promise<string>;
    json(): Promise<unknown>;
}
/** What openapi-fetch makes in place of a Request, which is dear and would be made twice. */
export declare class Asked {
    readonly url: string;
    readonly init: RequestInit;
    readonly method: string;
    constructor(url: string, init: RequestInit);
}
export declare class Transport {
    readonly base: string;
    readonly deadline: number;
    readonly tryTimeout: number;
    private readonly maxTries;
    private readonly headers;
    private readonly memory;
    private memoryLength;
    constructor(base: string, key: string, options: Options);
    /** Sends what openapi-fetch made until its answer is whole; throws what the last try met. */
    readonly fetch: (asked: Asked) => Promise<Answer>;
    /** Does something again while that helps: what it throws says so, and how long to wait. */
    repeat<T>(operation: string, longest: number, cancel: AbortSignal | null | undefined, once: (signal: AbortSignal) => Promise<T>): Promise<T>;
    /** Sends one request whose answer is a file, and hands the answer on before its body is here. */
    open(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Response>;
    private remember;
    private forget;
}
