/** Finds the addresses in a request that a provider may load, and rejects those that lead into a private network. */
import { isObject } from "@sluice/proto/lib/validation/fields.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { McpSettings } from "@sluice/proto/config/mcp.js";
import type { WebFetchSettings } from "@sluice/proto/config/web.js";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { AskingFeatureOf } from "../../turn/feature.ts";
import { onRequest } from "../../turn/layer-builders.ts";
import { ListMemo } from "../../turn/parse/list-memo.ts";
import type { InputItem, Tool, TurnRequest } from "../../turn/request.ts";
import { isPublic } from "../../services/public-web/public-address.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import { type Kind, NotPublic, checkPassedAddress } from "./passed-address.ts";
import type { Resolve } from "../../services/public-web/fetch-target.ts";

interface PassedAddress {
  /** `input.0.content.1.image_url` */
  readonly path: string;
  readonly text: string;
  readonly isMcp: boolean;
}

/**
 * Items with results of earlier searches and tools. Their addresses are only text for the model and never loaded; pages of the operator's own network may
 * be among them.
 */
const onlyRead =
  /^(?:reasoning|(?:web_search|file_search|function|custom_tool|computer|apply_patch|shell|local_shell|tool_search|mcp)_call|mcp_.*|service:.*)$/;

const addressField = /(?:^|_)(?:url|uri)s?$/;
/** Fields for base64 bytes in which some providers also accept an address. */
const byteFields: ReadonlySet<string> = new Set(["file_data", "data", "result"]);
/** URL parsers ignore white space and control characters, some of them even within a scheme. */
const startsLikeAddress = (text: string): boolean =>
  // oxlint-disable-next-line no-control-regex
  /^(?:https?:|[a-z][a-z0-9+.-]*:(?:[/\\]|https?:))/i.test(text.slice(0, 64).replaceAll(/[\u0000-\u0020]/g, ""));
const isData = /^data:/i;

/** Whether a text in a field of this name is an address to be loaded. */
type Names = (field: string, text: string) => boolean;

const namesAddress: Names = (field, text) =>
  byteFields.has(field) ? startsLikeAddress(text) : addressField.test(field) && text !== "" && !isData.test(text);

/** Image options are provider-specific: any of them may be an address. */
const looksLikeAddress: Names = (_, text) => startsLikeAddress(text);

/** @param name of the value's field */
function addAddresses(value: object, name: string, path: string, names: Names, found: PassedAddress[]): void {
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    const field = Array.isArray(value) ? name : key;
    if (typeof member === "string") {
      if (names(field, member)) found.push({ path: `${path}.${key}`, text: member, isMcp: field === "server_url" });
    } else if (typeof member === "object" && member !== null && isLoaded(field, member))
      addAddresses(member, field, `${path}.${key}`, names, found);
  }
}

/** Citations name sources, and function schemas contain text for the model: neither is loaded. */
const isLoaded = (field: string, member: object): boolean =>
  field !== "annotations" && !(field === "tools" && isObject(member) && ownCalls.has(member["type"] as string));

const ownCalls: ReadonlySet<string> = new Set(["function", "custom", "namespace"]);

/** Cached with the items repeated by a conversation. */
const inItems = new ListMemo<readonly PassedAddress[]>([], (before, input, from) => {
  const found: PassedAddress[] = [];
  for (let index = from; index < input.length; index++) {
    const item = input[index] as InputItem;
    if (!onlyRead.test(item.type)) addAddresses(item, "", `input.${index}`, namesAddress, found);
  }
  return found.length === 0 ? before : [...before, ...found];
});

const ofTools = new WeakMap<readonly Tool[], readonly PassedAddress[]>();

/** Addresses in tools that a provider may run. Equal bytes give the same list of tools, request after request. */
function inTools(tools: readonly Tool[]): readonly PassedAddress[] {
  if (tools.length === 0) return none;
  let found = ofTools.get(tools);
  if (found === undefined) {
    const all: PassedAddress[] = [];
    for (const [index, tool] of tools.entries()) {
      if (tool.type === "hosted")
        addAddresses(JSON.parse(tool.json) as object, "", `tools.${index}`, namesAddress, all);
    }
    ofTools.set(tools, (found = all));
  }
  return found;
}

const none: readonly PassedAddress[] = [];

function findAddresses(request: TurnRequest): readonly PassedAddress[] {
  const { input, tools, imageConfigJson: options, extraFields } = request;
  const sent = inItems.of(input);
  const ofServers = inTools(tools);
  if (options === undefined && !extraFields) return ofServers.length === 0 ? sent : [...sent, ...ofServers];
  const named: PassedAddress[] = [];
  if (options !== undefined) addSettings(options, "image_config", named);
  for (const [name, json] of Object.entries(extraFields ?? {})) addSettings(json, name, named);
  return [...sent, ...ofServers, ...named];
}

function addSettings(json: string, path: string, found: PassedAddress[]): void {
  const value: unknown = JSON.parse(json);
  if (typeof value === "object" && value !== null) addAddresses(value, "", path, looksLikeAddress, found);
  else if (typeof value === "string" && looksLikeAddress("", value)) found.push({ path, text: value, isMcp: false });
}

/** Time limit of a request's lookups. They are not needed to serve it: a provider resolves names itself. */
const lookupMs = 1_000;
/** Concurrent lookups: each takes one of the four threads also used for writing files. */
const maxConcurrent = 2;
/** Maximum number of hosts in a request; each is looked up. */
const maxHosts = 100;
const rememberedMs = 60_000;
const maxRemembered = 1_000;

export interface PassedAddressSettings {
  readonly fetch: WebFetchSettings;
  readonly mcp: McpSettings;
}

interface Resolution {
  readonly until: number;
  readonly isPrivate: Promise<boolean>;
}

export class PassedAddresses {
  readonly #resolve: Resolve;
  readonly #now: () => number;
  readonly #trusted: ReadonlySet<string>;
  readonly #trustedServers: ReadonlySet<string>;
  readonly #slots = new ConcurrencySlots(maxConcurrent);
  readonly #resolutions = new Map<string, Resolution>();

  constructor({ fetch, mcp }: PassedAddressSettings, resolve: Resolve, now: () => number) {
    this.#resolve = resolve;
    this.#now = now;
    this.#trusted = new Set(fetch.allow_private_origins);
    this.#trustedServers = new Set(mcp.allow);
  }

  /**
   * Performs all checks without a lookup.
   * @returns the first address of each name that needs a lookup
   * @throws Fault INVALID_REQUEST with every forbidden address
   */
  check(request: TurnRequest): ReadonlyMap<string, PassedAddress> {
    const problems = new Problems();
    const names = new Map<string, PassedAddress>();
    for (const address of findAddresses(request)) {
      const { path, text, isMcp } = address;
      try {
        const kind: Kind = isMcp ? "served" : "stored";
        const name = checkPassedAddress(text, kind, isMcp ? this.#trustedServers : this.#trusted);
        if (name !== undefined && !names.has(name)) names.set(name, address);
      } catch (error) {
        if (!(error instanceof PageUnreadable)) throw error;
        problems.add(path, refusalOf(error, isMcp));
      }
      if (names.size > maxHosts) {
        problems.add(path, `at most ${maxHosts} hosts in the addresses of a request`);
        break;
      }
    }
    problems.throwIfAny();
    return names;
  }

  /**
   * Looks the names up. A name unresolved in time passes: the provider resolves it in its own network.
   * @throws Fault INVALID_REQUEST for a name with a private address
   */
  async lookUp(names: ReadonlyMap<string, PassedAddress>): Promise<void> {
    const problems = new Problems();
    const all = [...names].map(async ([name, { path, isMcp }]) => {
      if (await this.#isPrivate(name)) problems.add(path, refusalOf(new NotPublic(), isMcp));
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, lookupMs)));
    await Promise.race([Promise.all(all), late]);
    clearTimeout(timer);
    problems.throwIfAny();
  }

  #isPrivate(name: string): Promise<boolean> {
    const now = this.#now();
    const known = this.#resolutions.get(name);
    if (known !== undefined && known.until > now) return known.isPrivate;
    const [oldest] = this.#resolutions.keys();
    if (this.#resolutions.size >= maxRemembered && oldest !== undefined) this.#resolutions.delete(oldest);
    const isPrivate = this.#resolved(name);
    this.#resolutions.set(name, { until: now + rememberedMs, isPrivate });
    return isPrivate;
  }

  async #resolved(name: string): Promise<boolean> {
    const release = await this.#slots.take(lookupMs);
    if (release === undefined) {
      this.#resolutions.delete(name);
      return false;
    }
    try {
      return !(await this.#resolve(name)).every(isPublic);
    } catch {
      return false;
    } finally {
      release();
    }
  }
}

function refusalOf(reason: PageUnreadable, isMcp: boolean): string {
  const says = `is not passed on: ${reason.message}`;
  if (!(reason instanceof NotPublic)) return says;
  return `${says}; the operator allows its origin in ${isMcp ? "mcp.allow" : "fetch.allow_private_origins"}`;
}

/** The part of the kit needed to check addresses. */
interface AddressKit {
  readonly addresses: PassedAddresses;
}

export const passedAddresses: AskingFeatureOf<AddressKit, AddressKit> = {
  id: "passed-addresses",
  applies: (request) => findAddresses(request).length > 0,
  layer: ({ addresses }) =>
    onRequest(async (request) => {
      const names = addresses.check(request);
      if (names.size > 0) await addresses.lookUp(names);
      return request;
    }),
  dryRun: ({ addresses }) =>
    onRequest((request) => {
      addresses.check(request);
      return request;
    }),
};
