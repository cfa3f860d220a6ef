// The client of openapi-fetch over the types of a document.
import createClient from "openapi-fetch";
import type { paths } from "./types";

export const connect = (baseUrl: string, headers: Record<string, string>) => createClient<paths>({ baseUrl, headers });
