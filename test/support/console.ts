/** Requests of a console page, sent without a browser. */

export interface ConsoleAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly data?: unknown; readonly error?: { readonly message: string } };
}

/** Sends a request to the console's API like a page of the same origin. @param origin origin of the gateway @param path path below `/console/api` */
export async function askConsole(
  origin: string,
  method: string,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: object,
): Promise<ConsoleAnswer> {
  const response = await fetch(`${origin}/console/api${path}`, {
    method,
    headers: { "sec-fetch-site": "same-origin", "content-type": "application/json", ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
}
