/**
 * The providers stored in the database. They are read from admin-svc at the start and at each change, their keys are
 * decrypted, and they take effect together with the configuration file. While admin-svc is unreachable, the last known
 * ones stay in effect.
 */
import { setTimeout as pause } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import { type Client, status } from "@grpc/grpc-js";
import {
  ListStoredProvidersRequestSchema,
  ProviderService,
  type StoredProvider as StoredRow,
} from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import type { CombinedConfig, ReadConfig } from "@sluice/proto/config/config-file.js";
import { type StoredProvider, destinationOf } from "@sluice/proto/config/stored-providers.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { StateSeal } from "../content/sealed-state.ts";

const timeoutMs = 5_000;
const firstPauseMs = 50;
const maxPauseMs = 1_000;

/** Error text for keys in the database that cannot be decrypted. */
export const otherSecret =
  "its keys are encrypted with another SLUICE_SECRET, or for another destination: enter them again";

export interface StoredProvidersParts {
  readonly client: Client;
  readonly token: ServiceToken;
  /** Secret of the installation, with which the keys are encrypted. */
  readonly secret: string;
  readonly log: Pick<Logger, "error" | "info" | "warn">;
}

/** A stored provider with its keys decrypted. */
export interface OpenedProvider extends StoredProvider {
  readonly row: StoredRow;
  /** Whether the keys could be decrypted; false when they are encrypted with another secret. */
  readonly isOpen: boolean;
}

export class StoredProviders {
  readonly #parts: StoredProvidersParts;
  readonly #seal: StateSeal;
  #config: ReadConfig;
  #opened: readonly OpenedProvider[] = [];
  #combined: CombinedConfig;
  #apply: (combined: CombinedConfig) => void = () => {};
  /** The last read of the list that has begun or waits to begin. */
  #last: Promise<void> = Promise.resolve();
  /** The read that waits for the end of the one before it. */
  #next: Promise<void> | undefined;
  readonly #stopped = new AbortController();
  /** Whether a failure has been logged, and no read has succeeded since. */
  #isMissed = false;
  #isOldPeerKnown = false;

  constructor(parts: StoredProvidersParts, config: ReadConfig) {
    this.#parts = parts;
    this.#seal = new StateSeal(parts.secret, "provider-keys");
    this.#config = config;
    this.#combined = config.combine([]);
  }

  /** The providers of the database by id, whether they are in effect or not. */
  get all(): readonly OpenedProvider[] {
    return this.#opened;
  }

  /** The configuration as read from the file, without the database. */
  get config(): ReadConfig {
    return this.#config;
  }

  /** Why a provider of the database is not in effect; undefined for one that is. */
  problemOf(id: string): string | undefined {
    return this.#opened.some((each) => each.id === id && !each.isOpen) ? otherSecret : this.#combined.refused.get(id);
  }

  /** @param apply called with each new configuration; if it throws, the former configuration stays in effect */
  onChange(apply: (combined: CombinedConfig) => void): void {
    this.#apply = apply;
  }

  /** Puts a changed configuration file into effect, with the current providers of the database. @throws errors of the listener */
  replaceFile(config: ReadConfig): void {
    this.#put(config, this.#opened);
  }

  /**
   * Reads the providers of the database, and puts a change into effect. Settles when a read that began after this call
   * is in effect, or after `stop()`; never rejects. Only one read runs at a time, so an older list never replaces a
   * newer one; calls during a read share the next one.
   */
  read(): Promise<void> {
    this.#next ??= this.#last = this.#last.then(() => {
      this.#next = undefined;
      return this.#readUntilDone();
    });
    return this.#next;
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #readUntilDone(): Promise<void> {
    const { signal } = this.#stopped;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(maxPauseMs, 2 * pauseMs)) {
      try {
        await this.#readOnce(signal);
        this.#isMissed = false;
        return;
      } catch (error) {
        this.#missed(error, signal);
      }
      await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** Reads the list once. An admin-svc of an earlier version cannot list providers: the last known ones stay until it has been replaced. */
  async #readOnce(signal: AbortSignal): Promise<void> {
    const { client, token } = this.#parts;
    const request = create(ListStoredProvidersRequestSchema);
    const method = ProviderService.method.listStoredProviders;
    const answer = call(client, method, request, serviceMetadata(token), timeoutMs, signal);
    const listed = await answer.catch((error: unknown) => {
      if (!isUnimplemented(error)) throw error;
      return undefined;
    });
    if (listed === undefined) return this.#foundOldPeer();
    this.#isOldPeerKnown = false;
    if (!signal.aborted) this.#receive(listed.providers.map((row) => this.#open(row)));
  }

  #foundOldPeer(): void {
    if (!this.#isOldPeerKnown)
      this.#parts.log.warn("admin-svc is of an earlier build, without providers in the database");
    this.#isOldPeerKnown = true;
  }

  #missed(error: unknown, { aborted }: AbortSignal): void {
    if (this.#isMissed || aborted) return;
    this.#isMissed = true;
    this.#parts.log.warn({ err: error }, "the providers of the database cannot be read; the last known ones stay");
  }

  /** Why a provider would be rejected together with the others; undefined for a valid one. */
  findProblem(provider: StoredProvider): string | undefined {
    const others = usable(this.#opened).filter(({ id }) => id !== provider.id);
    return this.#config.combine([...others, provider]).refused.get(provider.id);
  }

  /** Encrypts API keys for the database, bound to this provider's destination. @returns an empty text without keys */
  sealKeys(provider: StoredProvider, keys: readonly string[]): string {
    return keys.length === 0 ? "" : this.#seal.seal(keys, destinationOf(provider));
  }

  #open(row: StoredRow): OpenedProvider {
    const { id, sealedKeys } = row;
    const settings = JSON.parse(Buffer.from(row.settingsJson).toString()) as JsonObject;
    const keys = sealedKeys === "" ? [] : this.#seal.open(sealedKeys, destinationOf({ id, settings }));
    const isOpen = Array.isArray(keys);
    return { id, row, isOpen, settings: { ...settings, ...(isOpen && keys.length > 0 && { api_keys: keys }) } };
  }

  #receive(opened: readonly OpenedProvider[]): void {
    const before = new Map(this.#opened.map((each) => [each.id, each.row.revision]));
    const now = new Map(opened.map((each) => [each.id, each.row.revision]));
    const same = isDeepStrictEqual(usable(this.#opened), usable(opened));
    if (isDeepStrictEqual(before, now) && same) return;
    this.#put(this.#config, opened);
    const problems = [...this.#combined.refused].map(([id, problem]) => `${id}: ${problem}`);
    this.#parts.log.info({ providers: opened.map(({ id }) => id), problems }, "the providers of the database are read");
  }

  #put(config: ReadConfig, opened: readonly OpenedProvider[]): void {
    const combined = config.combine(usable(opened));
    this.#apply(combined);
    this.#config = config;
    this.#opened = opened;
    this.#combined = combined;
  }
}

/** The providers whose keys could be decrypted. */
const usable = (opened: readonly OpenedProvider[]): StoredProvider[] =>
  opened.filter(({ isOpen }) => isOpen).map(({ id, settings }) => ({ id, settings }));

const isUnimplemented = (error: unknown): boolean =>
  ((error as Error).cause as { readonly code?: unknown } | undefined)?.code === status.UNIMPLEMENTED;
