/** Sends a message to a sink by HTTP. A redirect counts as failure: only the configured address is called. */
import { type IncomingMessage, request as requestClear } from "node:http";
import { request as requestTls } from "node:https";

const deadlineMs = 10_000;
const maxAnswerBytes = 16 * 1024;

export interface Message {
  readonly url: string;
  readonly method?: "POST" | "PUT";
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/**
 * Error of a sink that refused a message. Its text is an HTTP status or a kind of failure, never text from the sink.
 */
export class SinkError extends Error {
  override readonly name = "SinkError";
}

/** Resolves when the sink answers with a success status. @throws SinkError otherwise */
export function post({ url, method = "POST", headers, body }: Message): Promise<void> {
  const request = url.startsWith("https:") ? requestTls : requestClear;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method,
      headers: { "user-agent": "Sluice", ...headers, "content-length": String(Buffer.byteLength(body)) },
      agent: false,
      signal: AbortSignal.timeout(deadlineMs),
    });
    sent.on("error", (error: NodeJS.ErrnoException) => reject(new SinkError(nameFailure(error))));
    sent.on("response", (answer) => {
      drain(answer);
      const { statusCode: status = 0 } = answer;
      if (status >= 200 && status < 300) resolve();
      else reject(new SinkError(`status ${status}`));
    });
    sent.end(body);
  });
}

/** Reads a short answer to its end, so the sink sees no broken connection. */
function drain(answer: IncomingMessage): void {
  let bytes = 0;
  answer.on("error", () => {});
  answer.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxAnswerBytes) answer.destroy();
  });
}

const nameFailure = ({ name, code }: NodeJS.ErrnoException): string =>
  name === "TimeoutError" || code === "ABORT_ERR" ? "timeout" : (code ?? "connection failed");
