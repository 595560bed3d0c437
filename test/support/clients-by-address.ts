/** Clients with different addresses on this machine: on Linux, every program can use all addresses of 127.0.0.0/8. */
import { type OutgoingHttpHeaders, request as requestHttp } from "node:http";
import { connect as connectHttp2 } from "node:http2";
import { connect } from "node:net";

export interface AddressedAnswer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly text: string;
  /** Whether the server asked for the body of a request that waits for `100 Continue`. */
  readonly wantedBody: boolean;
}

export interface AddressedRequest {
  readonly method?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: object;
  /** Whether the body is sent only when the server asks for it. */
  readonly waits?: boolean;
}

/** Sends a request over HTTP/1.1 from an address of this machine. */
export function askFrom(
  localAddress: string,
  url: string,
  { method, headers, body, waits = false }: AddressedRequest = {},
): Promise<AddressedAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  return new Promise((resolve, reject) => {
    let wantedBody = false;
    const request = requestHttp(url, {
      localAddress,
      method: method ?? (text === undefined ? "GET" : "POST"),
      agent: false,
      headers: {
        ...(text !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
        ...(waits && { expect: "100-continue" }),
        ...headers,
      },
    });
    request.on("error", reject);
    request.on("continue", () => {
      wantedBody = true;
      request.end(text);
    });
    request.on("response", (response) => {
      let read = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (read += chunk));
      response.on("end", () => {
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text: read, wantedBody });
        request.destroy();
      });
    });
    if (waits) request.flushHeaders();
    else request.end(text);
  });
}

/** Makes a unary call with JSON over HTTP/2 from an address of this machine. */
export async function callFrom(
  localAddress: string,
  port: number,
  path: string,
  headers: Readonly<Record<string, string>>,
  body: object = {},
): Promise<{ readonly status: number; readonly text: string }> {
  const session = connectHttp2(`http://127.0.0.1:${port}`, {
    createConnection: () => connect({ host: "127.0.0.1", port, localAddress }),
  });
  try {
    return await new Promise((resolve, reject) => {
      const given = { ":method": "POST", ":path": path, "content-type": "application/json", ...headers };
      const stream = session.request(given);
      let status = 0;
      let text = "";
      session.on("error", reject);
      stream.on("error", reject);
      stream.on("response", (answered) => (status = answered[":status"] ?? 0));
      stream.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      stream.on("end", () => resolve({ status, text }));
      stream.end(JSON.stringify(body));
    });
  } finally {
    session.close();
  }
}
