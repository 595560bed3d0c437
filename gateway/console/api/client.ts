/** The public API with the person's session; types come from the published contract. */
import createClient from "openapi-fetch";
import type { components, paths } from "../gen/contract.d.ts";

export type Schemas = components["schemas"];

export const apiBase = "/console/api";

/** An error answer, with a message for people. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Runs when the gateway no longer accepts the session. */
let whenSignedOut = () => {};
export const onSignedOut = (listener: () => void): void => {
  whenSignedOut = listener;
};

/** The gateway accepts a change from a browser only with this content type, also without a body. */
const json = { "content-type": "application/json" };

export const api = createClient<paths>({ baseUrl: apiBase, headers: json });

/** The result of a call by the API client. */
interface Answer<Data> {
  readonly data?: Data;
  readonly error?: unknown;
  readonly response: Response;
}

/** @returns the body of the answer @throws ApiError */
export async function unwrapAnswer<Data>(answering: Promise<Answer<Data>>): Promise<Data> {
  const { data, error, response } = await answering.catch(() => {
    throw new ApiError(0, "Sluice does not answer. Is it running?");
  });
  if (error === undefined) return data as Data;
  if (response.status === 401) whenSignedOut();
  throw new ApiError(response.status, errorMessageOf(error) ?? `The request failed with status ${response.status}.`);
}

/** The error message of an answer's body. */
export function errorMessageOf(body: unknown): string | undefined {
  const { error } = (body ?? {}) as { readonly error?: { readonly message?: unknown } };
  return typeof error?.message === "string" && error.message !== "" ? error.message : undefined;
}

/** Sends a request of the console's own API. @throws ApiError */
export async function sendRequest<Data>(method: string, path: string, body?: object): Promise<Data> {
  const answering = fetch(`${apiBase}${path}`, {
    method,
    headers: json,
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return unwrapAnswer(answering.then((response) => readAnswer<Data>(response)));
}

async function readAnswer<Data>(response: Response): Promise<Answer<Data>> {
  const text = await response.text();
  const body: unknown = text === "" ? undefined : JSON.parse(text);
  return response.ok ? { data: body as Data, response } : { error: body ?? {}, response };
}
