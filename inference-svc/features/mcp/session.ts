/**
 * A turn's connection to one MCP server over streamable HTTP. Servers of MCP revision 2026-07-28 accept independent
 * requests; those of earlier revisions require a session, which is opened first and deleted at the end.
 */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { CallAbandoned } from "../../models/ledger/service-meter.ts";
import { TimedCall } from "../../turn/abort.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { FieldMap, McpConnection } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import { type Params, readResult, writeNotification, writeRequest } from "./messages.ts";
import { toFieldValue } from "./param-fields.ts";

/** The MCP revision that has no sessions. */
const sessionless = "2026-07-28";
/** MCP revisions with sessions, newest first. */
const sessionRevisions = ["2025-11-25", "2025-06-18", "2025-03-26"];
const deleteMs = 2_000;

/** MCP revisions by server address, remembered for the life of the process: finding out costs a request. */
export interface Revisions {
  get(url: string): "sessions" | "sessionless" | undefined;
  set(url: string, kind: "sessions" | "sessionless"): unknown;
  delete(url: string): unknown;
}

export interface McpSessionDeps {
  /** Address of the server, by which its revision is remembered. */
  readonly url: string;
  /** Connects at the first request. @throws McpFailure for a forbidden address */
  readonly connect: () => Promise<McpConnection>;
  readonly version: string;
  readonly revisions: Revisions;
}

export interface RequestLimits {
  readonly signal: TurnSignal;
  readonly limitMs: number;
  /** Header fields of this request only. */
  readonly fields?: FieldMap;
  /** Called when the request is sent, after the requests that open the session. */
  readonly onSent?: () => void;
}

/** An open session, or a connection to a server without sessions. */
interface Opened {
  readonly connection: McpConnection;
  readonly protocol: string;
  /** Id of the session; absent for servers without sessions. */
  readonly id?: string;
}

export class McpSession {
  readonly #parts: McpSessionDeps;
  #opened: Promise<Opened> | undefined;
  #connection: Promise<McpConnection> | undefined;
  #lastId = 0;

  constructor(parts: McpSessionDeps) {
    this.#parts = parts;
  }

  /** Sends a request, and opens the session first if necessary. @throws McpFailure; Fault when the turn is over */
  async request(method: string, params: Params, limits: RequestLimits): Promise<JsonObject> {
    const { limitMs } = limits;
    const call = new TimedCall(limits.signal, limitMs, () => lateAnswer(limitMs));
    try {
      return await call.race(this.#requestWithin(call.signal, method, params, limits));
    } finally {
      call.end();
    }
  }

  async #requestWithin(
    signal: AbortSignal,
    method: string,
    params: Params,
    { fields, onSent }: RequestLimits,
  ): Promise<JsonObject> {
    const opened = this.#open(signal);
    try {
      const ready = await opened;
      onSent?.();
      return await this.#request(ready, method, params, signal, fields);
    } catch (error) {
      const status = error instanceof McpFailure ? error.status : undefined;
      const isOver = status === 404 && (await opened.catch(() => {}))?.id !== undefined;
      // The server may have been replaced by one with another revision.
      if (!isOver && (status === 400 || status === 404)) this.#parts.revisions.delete(this.#parts.url);
      if (!isOver) throw error;
      // The server no longer knows the session, and has not processed the request, so it is sent again.
      if (this.#opened === opened) this.#opened = undefined;
      return await this.#request(await this.#open(signal), method, params, signal, fields);
    }
  }

  /** Ends the session, and aborts requests under way. */
  close(): void {
    const opened = this.#opened;
    this.#opened = undefined;
    void (async () => {
      const { connection, id, protocol } = (await opened?.catch(() => {})) ?? {};
      const fields = { "mcp-protocol-version": protocol ?? "", "mcp-session-id": id ?? "" };
      if (id !== undefined) await connection?.delete(fields, AbortSignal.timeout(deleteMs)).catch(() => {});
      (await this.#connection?.catch(() => {}))?.close();
    })();
  }

  #open(signal: AbortSignal): Promise<Opened> {
    const opened = (this.#opened ??= this.#begin(signal));
    // A failed attempt is forgotten, so a later request tries again.
    opened.catch(() => {
      if (this.#opened === opened) this.#opened = undefined;
    });
    return opened;
  }

  async #begin(signal: AbortSignal): Promise<Opened> {
    this.#connection ??= this.#parts.connect();
    this.#connection.catch(() => (this.#connection = undefined));
    const connection = await this.#connection;
    const { revisions, url } = this.#parts;
    const known = revisions.get(url);
    if (known === "sessionless") return { connection, protocol: sessionless };
    if (known === undefined && (await this.#isSessionless(connection, signal))) {
      revisions.set(url, "sessionless");
      return { connection, protocol: sessionless };
    }
    const opened = await this.#initialize(connection, signal);
    revisions.set(url, "sessions");
    return opened;
  }

  /**
   * Whether the server supports requests without a session; a server of an earlier revision refuses the question.
   * @throws McpFailure when it refuses the caller
   */
  async #isSessionless(connection: McpConnection, signal: AbortSignal): Promise<boolean> {
    try {
      const { supportedVersions } = await this.#request(
        { connection, protocol: sessionless },
        "server/discover",
        {},
        signal,
      );
      return Array.isArray(supportedVersions) && supportedVersions.includes(sessionless);
    } catch (error) {
      const isAnswer = error instanceof McpFailure && error.status !== 401 && error.status !== 403;
      if (!isAnswer || signal.aborted) throw error;
      return false;
    }
  }

  async #initialize(connection: McpConnection, signal: AbortSignal): Promise<Opened> {
    const requestId = ++this.#lastId;
    const params = {
      protocolVersion: JSON.stringify(sessionRevisions[0]),
      capabilities: "{}",
      clientInfo: JSON.stringify(this.#client),
    };
    const { headers, message } = await connection.post({
      id: requestId,
      body: writeRequest(requestId, "initialize", params),
      fields: {},
      signal,
    });
    const { protocolVersion } = readResult(message as JsonObject);
    const protocol = sessionRevisions.find((each) => each === protocolVersion);
    if (protocol === undefined) throw new McpFailure("the server speaks a revision of the protocol that is not known");
    const id = sessionIdIn(headers["mcp-session-id"]);
    const opened: Opened = { connection, protocol, ...(id !== undefined && { id }) };
    await connection.post({
      body: writeNotification("notifications/initialized"),
      fields: fieldsOf(opened),
      signal,
    });
    return opened;
  }

  async #request(
    opened: Opened,
    method: string,
    params: Params,
    signal: AbortSignal,
    fields?: FieldMap,
  ): Promise<JsonObject> {
    const id = ++this.#lastId;
    const isSessionless = opened.protocol === sessionless;
    const own = isSessionless ? { ...params, _meta: JSON.stringify(this.#meta) } : params;
    const named = isSessionless ? { ...methodFields(method, params), ...fields } : {};
    const { message } = await opened.connection.post({
      id,
      body: writeRequest(id, method, own),
      fields: { ...fieldsOf(opened), ...named },
      signal,
    });
    return readResult(message as JsonObject);
  }

  get #client(): JsonObject {
    return { name: "sluice", version: this.#parts.version };
  }

  get #meta(): JsonObject {
    return {
      "io.modelcontextprotocol/protocolVersion": sessionless,
      "io.modelcontextprotocol/clientInfo": this.#client,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
  }
}

const fieldsOf = ({ protocol, id }: Opened): FieldMap => ({
  "mcp-protocol-version": protocol,
  ...(id !== undefined && { "mcp-session-id": id }),
});

/** Header fields by which proxies route a request without parsing it. */
const methodFields = (method: string, { name }: Params): FieldMap => ({
  "mcp-method": method,
  ...(name !== undefined && { "mcp-name": toFieldValue(String(JSON.parse(name))) }),
});

/** The session id a server gave. @throws McpFailure for an id that is invalid as a header value */
function sessionIdIn(field: string | string[] | undefined): string | undefined {
  if (field === undefined) return undefined;
  if (typeof field !== "string" || !/^[\x21-\x7e]{1,1024}$/.test(field))
    throw new McpFailure("the session id is not valid");
  return field;
}

function lateAnswer(limitMs: number): McpFailure {
  const message = `no answer in ${limitMs / 1_000} s`;
  return new McpFailure(message, { cause: new CallAbandoned(message, 524) });
}
