/** Finds the addresses in a request a provider may load, and rejects those that lead into a private network. */
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import type { McpSettings } from "@sluice/proto/config/mcp.js";
import type { WebFetchSettings } from "@sluice/proto/config/web.js";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import type { CallingFeatureOf } from "../../turn/feature.ts";
import { requestLayer } from "../../turn/layer-builders.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { isPublic } from "../../services/public-web/public-address.ts";
import { PageUnreadable } from "../../services/public-web/page-unreadable.ts";
import { type AddressPurpose, AddressNotPublic, checkPassedAddress } from "./passed-address.ts";
import type { Resolve } from "../../services/public-web/fetch-target.ts";
import { type PassedAddress, findAddresses } from "../../content/request-addresses.ts";
import { applies } from "../applies.ts";

/** Maximum milliseconds for a request's lookups. The request can be served without them: a provider resolves names itself. */
const lookupMs = 1_000;
/** Maximum concurrent lookups: each occupies one of the four threads that also write files. */
const maxConcurrent = 2;
/** Maximum number of hosts in a request, all of which are looked up. */
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
   * Makes all checks that need no lookup.
   * @returns the first address of each name that needs a lookup
   * @throws Fault INVALID_REQUEST with every forbidden address
   */
  check(request: TurnRequest): ReadonlyMap<string, PassedAddress> {
    const problems = new Problems();
    const names = new Map<string, PassedAddress>();
    for (const address of findAddresses(request)) {
      const { path, text, isMcp } = address;
      try {
        const kind: AddressPurpose = isMcp ? "served" : "stored";
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
   * Looks up the names. A name that is not resolved in time passes, because the provider resolves it in its own
   * network.
   * @throws Fault INVALID_REQUEST for a name with a private address
   */
  async lookUp(names: ReadonlyMap<string, PassedAddress>): Promise<void> {
    const problems = new Problems();
    const all = [...names].map(async ([name, { path, isMcp }]) => {
      if (await this.#isPrivate(name)) problems.add(path, refusalOf(new AddressNotPublic(), isMcp));
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
  if (!(reason instanceof AddressNotPublic)) return says;
  return `${says}; the operator allows its origin in ${isMcp ? "mcp.allow" : "fetch.allow_private_origins"}`;
}

/** The part of the kit needed to check addresses. */
interface AddressKit {
  readonly addresses: PassedAddresses;
}

export const passedAddresses: CallingFeatureOf<AddressKit, AddressKit> = {
  id: "passed-addresses",
  applies: applies.passedAddresses,
  layer: ({ addresses }) =>
    requestLayer(async (request) => {
      const names = addresses.check(request);
      if (names.size > 0) await addresses.lookUp(names);
      return request;
    }),
  dryRun: ({ addresses }) =>
    requestLayer((request) => {
      addresses.check(request);
      return request;
    }),
};
