/** The MCP servers that requests may use: those of the configuration file by name, and addresses the file allows. */
import type { McpSettings } from "@sluice/proto/config/mcp.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { type OnServiceEnd, observeCall } from "../../services/guarded-service.ts";
import type { Meter, OpenMeter, ServiceCaller } from "../../models/ledger/service-meter.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import { anyDomain } from "../../services/public-web/domains.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import { type Resolve, checkUrl, resolveTarget } from "../../services/public-web/fetch-target.ts";
import { type FieldMap, McpConnection } from "./connection.ts";
import { McpFailure } from "./failure.ts";
import { McpSession, type Revisions } from "./session.ts";

/** Called when tools are listed or a tool is called; returns a function to be called with the outcome. */
export type McpWatch = (kind: "list" | "call") => OnServiceEnd;

export interface McpDependencies {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  readonly resolve: Resolve;
  readonly watch: McpWatch;
  readonly meter: OpenMeter;
  readonly log: Pick<Logger, "warn">;
}

export interface McpAddress {
  /** Name of the server in the configuration file; absent for a server that only the request names. */
  readonly name?: string;
  readonly url: string;
  /** Header fields of every request, including credentials. */
  readonly fields: FieldMap;
  /** Whether the server is in the configuration file, so it may have a private address. */
  readonly isOperators: boolean;
}

/** Maximum addresses whose protocol revision is remembered; beyond it, the oldest is forgotten. */
const maxRemembered = 1_000;

export class McpServers {
  readonly #settings: McpSettings;
  readonly #parts: McpDependencies;
  /** Origins that requests may name although their addresses are private. */
  readonly #trusted: ReadonlySet<string>;
  readonly #revisions = new RememberedRevisions();
  readonly #meters: ReadonlyMap<string, Meter>;
  /** Meter for servers that only the request names. */
  readonly #freeMeter: Meter;

  constructor(settings: McpSettings, parts: McpDependencies) {
    this.#settings = settings;
    this.#parts = parts;
    this.#trusted = new Set(settings.allow.filter((origin) => origin !== "*"));
    const servers = Object.entries(settings.servers);
    this.#meters = new Map(servers.map(([name, { pricing }]) => [name, meterOf(parts, name, pricing?.request)]));
    this.#freeMeter = parts.meter({ operation: "mcp", model: "mcp", provider: "mcp", price: undefined });
  }

  /** The server with this name in the configuration file. */
  find(name: string): McpAddress | undefined {
    if (!Object.hasOwn(this.#settings.servers, name)) return undefined;
    const server = this.#settings.servers[name];
    if (server === undefined) return undefined;
    const { url, authorization, headers } = server;
    const fields = Object.fromEntries(Object.entries(headers).map(([field, value]) => [field.toLowerCase(), value]));
    return {
      name,
      url,
      fields: { ...fields, ...(authorization !== undefined && { authorization }) },
      isOperators: true,
    };
  }

  /** Whether requests may name this address. For a private address, the list must contain its exact origin. */
  allows(url: URL): boolean {
    const { allow } = this.#settings;
    return allow.includes(url.origin) || (allow.includes("*") && url.protocol === "https:");
  }

  /** Opens a session; nothing is sent before its first request. */
  open({ url, fields, isOperators }: McpAddress): McpSession {
    const { version } = this.#parts;
    const connect = async () => {
      const target = await this.#resolve(url, isOperators ? new Set([new URL(url).origin]) : this.#trusted);
      return new McpConnection(target, { "user-agent": `sluice/${version}`, ...fields });
    };
    return new McpSession({ url, connect, version, revisions: this.#revisions });
  }

  /** Requests a server's tool list, free of charge. */
  list<Result>({ url }: McpAddress, signal: TurnSignal, request: () => Promise<Result>): Promise<Result> {
    return this.#watched("list", url, signal, request);
  }

  /**
   * Calls a tool. Every result is charged, even the error of a tool.
   * @throws McpFailure; Fault when the turn is over, or when the budget forbids the call
   */
  call<Result>(
    { name = "", url }: McpAddress,
    { scope, signal }: ServiceCaller,
    request: (onSent: () => void) => Promise<Result>,
  ): Promise<Result> {
    const meter = this.#meters.get(name) ?? this.#freeMeter;
    return this.#watched("call", url, signal, () => meter({ scope, signal }, { send: request, isCharged: () => true }));
  }

  /** Counts a request, and logs why it failed. */
  async #watched<Result>(kind: "list" | "call", url: string, signal: TurnSignal, request: () => Promise<Result>) {
    try {
      return await observeCall(this.#parts.watch(kind), signal, request);
    } catch (error) {
      if (error instanceof McpFailure && !signal.aborted) this.#warn(kind, url, error);
      throw error;
    }
  }

  /** Logs a failure without the address's path, which may contain a key, and without the server's messages. */
  #warn(kind: "list" | "call", url: string, { message, isQuoted, status }: McpFailure): void {
    const reason = isQuoted ? `refused${status === undefined ? "" : ` with HTTP ${status}`}` : message;
    this.#parts.log.warn({ host: new URL(url).host, kind, reason }, "request to an MCP server failed");
  }

  async #resolve(url: string, trusted: ReadonlySet<string>) {
    try {
      return await resolveTarget(checkUrl(url, anyDomain, trusted), this.#parts.resolve, trusted);
    } catch (error) {
      throw error instanceof PageUnreadable ? new McpFailure(error.message, { cause: error }) : error;
    }
  }
}

const meterOf = ({ meter }: McpDependencies, name: string, price: string | undefined): Meter =>
  meter({ operation: "mcp", model: `mcp/${name}`, provider: name, price });

class RememberedRevisions extends Map<string, "sessions" | "sessionless"> implements Revisions {
  override set(url: string, kind: "sessions" | "sessionless"): this {
    const [oldest] = this.keys();
    if (this.size >= maxRemembered && oldest !== undefined) this.delete(oldest);
    return super.set(url, kind);
  }
}
