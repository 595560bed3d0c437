/** HTTP client for another Sluice installation; it calls the operations described by the contract. */
import { type Operation, basePath } from "@sluice/proto/contract/operations/operation.js";
import { CommandError, UsageError } from "@sluice/proto/lib/process/cli.js";
import { workspaceHeader } from "@sluice/proto/lib/rpc/caller.js";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { throwAsUsageError } from "../terminal.ts";

export interface RemoteOptions {
  /** Value of SLUICE_URL, with or without the base path. */
  readonly url: string;
  /** Value of SLUICE_MANAGEMENT_KEY. */
  readonly key: string | undefined;
  /** Name or id of the workspace to act in, for a management key of the account; undefined for the workspace of the key. */
  readonly workspace?: string | undefined;
}

/** The parts of a request; undefined query values are left out. */
export interface RemoteRequest {
  readonly parameters?: Readonly<Record<string, string>>;
  readonly query?: JsonObject;
  readonly body?: JsonObject;
}

/** Timeout of a request. A change takes at most a second; a trial of a guardrail takes longer. */
const timeoutMs = 90_000;
/** Records a page: the maximum of every list operation. */
const pageSize = 100;

/**
 * Removes slashes at the end of an address. @param name the setting named in the error. @throws CommandError without
 * quoting the address, which may contain a password
 */
export function sluiceAddress(address: string, name: string): string {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isPlain =
    url && /^https?:$/.test(url.protocol) && url.host + url.pathname === url.href.slice(url.protocol.length + 2);
  if (!isPlain) throw new CommandError(`${name}: must be an address such as https://sluice.example.com`);
  return address.replace(/\/+$/, "");
}

export class RemoteSluice {
  readonly #base: string;
  readonly #key: string;
  readonly #workspaceId: string | undefined;

  /**
   * @param workspaceId workspace in which to act; undefined for the workspace of the key. @throws CommandError without
   * a valid address and a key
   */
  constructor({ url, key }: RemoteOptions, workspaceId?: string) {
    const trimmed = sluiceAddress(url, "SLUICE_URL");
    if (key === undefined || key === "") throw new CommandError("SLUICE_MANAGEMENT_KEY is not set");
    this.#base = trimmed.endsWith(basePath) ? trimmed : `${trimmed}${basePath}`;
    this.#key = key;
    this.#workspaceId = workspaceId;
  }

  /**
   * Calls an operation and returns its answer. @throws UsageError for input refused by the contract, CommandError with
   * the installation's error text
   */
  async call(operation: Operation, { parameters = {}, query = {}, body }: RemoteRequest = {}): Promise<JsonObject> {
    const given = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
    await throwAsUsageError(() => throwProblems((problems) => operation.query?.check(given, "", problems)));
    await throwAsUsageError(() => throwProblems((problems) => body && operation.body?.shape.check(body, "", problems)));
    const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(parameters[name] ?? ""),
    );
    const queryText = new URLSearchParams(
      Object.entries(given).map(([name, value]): [string, string] => [name, String(value)]),
    );
    const url = `${this.#base}${path}${queryText.size > 0 ? `?${queryText.toString()}` : ""}`;
    return this.#send(operation.method.toUpperCase(), url, body);
  }

  /** Reads all pages of a list. */
  async list(operation: Operation, query: JsonObject = {}): Promise<readonly JsonObject[]> {
    const records: JsonObject[] = [];
    let cursor: unknown;
    do {
      const answer = await this.call(operation, { query: { ...query, cursor, limit: pageSize } });
      records.push(...(answer["data"] as readonly JsonObject[]));
      cursor = answer["next_cursor"] ?? undefined;
    } while (cursor !== undefined);
    return records;
  }

  async #send(method: string, url: string, body: JsonObject | undefined): Promise<JsonObject> {
    const response = await fetch(url, {
      method,
      // Redirects are not followed, because they would send the key to another address.
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(body && { "content-type": "application/json" }),
        ...(this.#workspaceId !== undefined && { [workspaceHeader]: this.#workspaceId }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((error: unknown) => {
      throw new CommandError(`${new URL(url).origin} cannot be reached: ${reasonOf(error)}`);
    });
    const text = await response.text();
    const answer = parse(text);
    if (response.ok && (answer || text === "")) return answer ?? {};
    const error = answer?.["error"];
    const message = isObject(error) ? String(error["message"]) : `no answer of Sluice, status ${response.status}`;
    if (response.status === 400) throw new UsageError(message);
    throw new CommandError(message);
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { readonly cause?: { readonly code?: unknown }; readonly message?: unknown };
  return String(cause?.code ?? message);
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
