/** The base of all errors of this package. */
export declare class NinepocketError extends Error {
    name: string;
}
/** No whole answer came, however often it was tried. `cause` has the last reason. */
export declare class Unreachable extends NinepocketError {
    name: string;
    constructor(operation: string, tries: number, cause: unknown);
}
/** An answer that is an error. Branch on `code`, which is one of the error table. */
export declare class APIError extends NinepocketError {
    readonly status: number;
    readonly code: string;
    readonly detail: string;
    readonly requestId: string;
    /** Seconds to wait, where the server names them. */
    readonly retryAfter: number | undefined;
    /** Whether a page was asked for by a cursor, which then is too old. */
    readonly cursorExpired: boolean;
    name: string;
    /** What to do about it, or empty where the detail says it. */
    readonly advice: string;
    /** Each reason that the server names. */
    readonly problems: string[];
    constructor(status: number, code: string, detail: string, requestId: string, 
    /** Seconds to wait, where the server names them. */
    retryAfter: number | undefined, 
    /** Whether a page was asked for by a cursor, which then is too old. */
    cursorExpired: boolean);
}
/** The error of an answer of either surface, or of a proxy that knows neither. */
export declare function refusal(status: number, headers: Headers, text: string, paging: boolean): APIError;
/** The seconds of Retry-After, which has a number or a date. */
export declare function retryAfter(headers: Headers): number | undefined;
