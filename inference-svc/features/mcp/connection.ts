/** An HTTP connection to one MCP server: each message is a POST, answered by JSON or by a stream of events. Redirects are not followed. */
import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { countValues, maxValues, tooManyValues } from "@sluice/proto/lib/json/values.js";
import { longText, longWork } from "@sluice/proto/lib/load/fair-shares.js";
import { type Account, chunkOverheadBytes, heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import { type Dispatcher, Pool } from "undici";
import { CallAbandoned } from "../../models/ledger/service-meter.ts";
import { measureParsed } from "../../models/estimate/memory.ts";
import { EventScanner } from "../../models/upstream/transport/sse.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import { pinnedConnector } from "../../services/public-web/pinned-connector.ts";
import type { FetchTarget } from "../../services/public-web/fetch-target.ts";
import { McpFailure } from "./failure.ts";
import { isAnswerTo, toMcpFailure, isRequest, readMessages, writeReply } from "./messages.ts";

/** Maximum bytes of an answer. Its text is in memory twice while the answer is read. */
export const maxAnswerBytes = 4 * 1024 * 1024;
/** Maximum bytes of an error page that are searched for a JSON-RPC error. */
const maxErrorBytes = 64 * 1024;
const headersLimitBytes = 32 * 1024;
/** Maximum connections to a server, one for each concurrent call of a model's answer. */
const maxConnections = 8;
/** Maximum requests of the server within one answer, such as pings, that are replied to. */
const maxReplies = 16;

export type FieldMap = Readonly<Record<string, string>>;

export interface PostRequest {
  /** Id of the expected answer; absent for a notification. */
  readonly id?: number;
  readonly body: string;
  readonly fields: FieldMap;
  readonly signal: AbortSignal;
}

export interface PostAnswer {
  readonly headers: IncomingHttpHeaders;
  /** The answer with the expected id; absent for a notification. */
  readonly message: JsonObject | undefined;
}

export class McpConnection {
  readonly #pool: Pool;
  readonly #host: string;
  readonly #path: string;
  readonly #fields: FieldMap;
  /** Memory account of all answers until the connection is closed: a turn keeps tools and results until its end. */
  readonly #held: Account;

  /** @param fields header fields of every request */
  constructor(target: FetchTarget, fields: FieldMap) {
    const { url } = target;
    this.#host = url.host;
    this.#held = heldBytes.open(url.host, () => this.close());
    this.#path = url.pathname + url.search;
    this.#fields = { ...fields, accept: "application/json, text/event-stream", "accept-encoding": "identity" };
    this.#pool = new Pool(url.origin, {
      connect: pinnedConnector(target),
      connections: maxConnections,
      maxHeaderSize: headersLimitBytes,
      // undici's own time limits are off, because the signal ends the request in time.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /** Sends a message. @throws McpFailure; the reason of the signal */
  async post(post: PostRequest): Promise<PostAnswer> {
    const { body, fields, signal } = post;
    try {
      const response = await this.#pool.request({
        method: "POST",
        path: this.#path,
        headers: { ...this.#fields, ...fields, "content-type": "application/json" },
        body,
        signal,
      });
      return { headers: response.headers, message: await this.#read(response, post) };
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof McpFailure) throw cause;
      throw new McpFailure(cause instanceof PageUnreadable ? cause.message : "the server does not answer correctly", {
        cause,
      });
    }
  }

  /** Ends a session at the server; its answer does not matter. */
  async delete(fields: FieldMap, signal: AbortSignal): Promise<void> {
    const headers = { ...this.#fields, ...fields };
    const { body } = await this.#pool.request({ method: "DELETE", path: this.#path, headers, signal });
    await body.dump({ limit: maxErrorBytes, signal });
  }

  /** Closes the connection, and aborts requests under way. */
  close(): void {
    this.#held.release();
    void this.#pool.destroy();
  }

  async #read(
    { statusCode, headers, body }: Dispatcher.ResponseData,
    post: PostRequest,
  ): Promise<JsonObject | undefined> {
    try {
      if (statusCode >= 300 && statusCode < 400)
        throw new McpFailure(`HTTP ${statusCode}: redirects are not followed`, { status: statusCode });
      if (statusCode >= 400) throw await refusalOf(statusCode, body);
      if (post.id === undefined) return undefined;
      const type = String(headers["content-type"] ?? "").toLowerCase();
      if (headers["content-encoding"] !== undefined && headers["content-encoding"] !== "identity")
        throw new McpFailure("the answer is compressed, which was not asked for");
      if (type.startsWith("text/event-stream")) return await this.#fromStream(body, post);
      if (!type.startsWith("application/json"))
        throw new McpFailure("the answer is neither JSON nor a stream of events");
      return awaited(await this.#messagesIn(await textOf(this.#counted(body), maxAnswerBytes)), post.id);
    } finally {
      // An answer that is not read to its end leaves its connection open; this closes it.
      body.on("error", () => {}).destroy();
    }
  }

  async #fromStream(body: AsyncIterable<Buffer>, post: PostRequest): Promise<JsonObject> {
    let [size, replies] = [0, 0];
    let texts: string[] = [];
    const scanner = new EventScanner((_, data) => {
      if (data.trim() !== "") texts.push(data);
    });
    const findAnswer = async () => {
      let found: JsonObject | undefined;
      for (const text of texts) {
        for (const message of await this.#messagesIn(text)) {
          if (isAnswerTo(message, post.id as number)) found ??= message;
          else if (isRequest(message) && replies++ < maxReplies) this.#reply(message, post);
        }
      }
      texts = [];
      return found;
    };
    for await (const chunk of this.#counted(body)) {
      size += chunk.length;
      if (size > maxAnswerBytes) throw tooLarge(`is longer than ${maxAnswerBytes / 1024 / 1024} MiB`);
      scanner.feed(chunk);
      const found = await findAnswer();
      if (found !== undefined) return found;
    }
    scanner.flush();
    const found = await findAnswer();
    if (found === undefined) throw noAnswer();
    return found;
  }

  async *#counted(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of body) {
      this.#held.grow(chunk.length + chunkOverheadBytes);
      yield chunk;
    }
  }

  async #messagesIn(text: string): Promise<readonly JsonObject[]> {
    if (text.length > longText) await longWork.turnOf(this.#host);
    const values = countValues(text);
    if (values > maxValues) throw tooLarge(`has ${tooManyValues}`);
    this.#held.grow(0, measureParsed(text, values));
    return readMessages(text);
  }

  /** Replies to a request of the server. A failed reply is ignored: only the server misses it. */
  #reply(message: JsonObject, { fields, signal }: PostRequest): void {
    this.post({ body: writeReply(message), fields, signal }).catch(() => {});
  }
}

function awaited(messages: readonly JsonObject[], id: number): JsonObject {
  const found = messages.find((message) => isAnswerTo(message, id));
  if (found === undefined) throw noAnswer();
  return found;
}

const noAnswer = (): McpFailure => new McpFailure("the server ended without an answer to the request");

function tooLarge(excess: string): McpFailure {
  const message = `the answer ${excess}`;
  return new McpFailure(message, { cause: new CallAbandoned(message, 502) });
}

/** Reads a body as text. @throws McpFailure for a longer text */
async function textOf(body: AsyncIterable<Buffer>, max: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > max) throw tooLarge(`is longer than ${max / 1024 / 1024} MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** The failure for an error status, with the JSON-RPC error of its body if there is one. */
async function refusalOf(status: number, body: AsyncIterable<Buffer>): Promise<McpFailure> {
  const plain = new McpFailure(`HTTP ${status}`, { status });
  try {
    const error = readMessages(await textOf(body, maxErrorBytes)).find((message) => "error" in message)?.["error"];
    if (error === undefined) return plain;
    const { message, isQuoted } = toMcpFailure(error);
    return new McpFailure(`HTTP ${status}: ${message}`, { status, isQuoted });
  } catch {
    return plain;
  }
}
