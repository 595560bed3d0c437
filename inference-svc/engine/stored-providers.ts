/**
 * The providers in the database: read from admin-svc at the start and at each change, their keys decrypted, and put into force together with the
 * configuration file. While admin-svc is unreachable, the last known ones stay in force.
 */
import { isDeepStrictEqual } from "node:util";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import {
  ListStoredProvidersRequestSchema,
  ProviderService,
  type StoredProvider as StoredRow,
} from "@sluice/proto/gen/sluice/admin/v1/provider_service_pb.js";
import type { CombinedConfig, ReadConfig } from "@sluice/proto/config/config-file.js";
import type { StoredProvider } from "@sluice/proto/config/stored-providers.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { StateSeal } from "../content/sealed-state.ts";

const timeoutMs = 5_000;
const retryMs = 1_000;

const otherSecret = "its keys are encrypted with another SLUICE_SECRET: enter them again";

export interface StoredProvidersParts {
  readonly client: Client;
  readonly token: ServiceToken;
  /** Secret of the installation, with which keys are encrypted. */
  readonly secret: string;
  readonly log: Pick<Logger, "error" | "info" | "warn">;
}

/** A row with its keys decrypted. */
export interface OpenedProvider extends StoredProvider {
  readonly row: StoredRow;
  /** False when the keys are encrypted with another secret. */
  readonly isOpen: boolean;
}

export class StoredProviders {
  readonly #parts: StoredProvidersParts;
  readonly #seal: StateSeal;
  #config: ReadConfig;
  #opened: readonly OpenedProvider[] = [];
  #combined: CombinedConfig;
  #apply: (combined: CombinedConfig) => void = () => {};
  #retry: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: StoredProvidersParts, config: ReadConfig) {
    this.#parts = parts;
    this.#seal = new StateSeal(parts.secret, "provider-keys");
    this.#config = config;
    this.#combined = config.combine([]);
  }

  /** The providers of the database, in force or not, by id. */
  get all(): readonly OpenedProvider[] {
    return this.#opened;
  }

  /** The configuration file, without the database. */
  get config(): ReadConfig {
    return this.#config;
  }

  /** Why a provider of the database is not in force; undefined for one that is. */
  problemOf(id: string): string | undefined {
    return this.#opened.some((each) => each.id === id && !each.isOpen) ? otherSecret : this.#combined.refused.get(id);
  }

  /** @param apply called with each new configuration; may throw, then the former one stays in force */
  onChange(apply: (combined: CombinedConfig) => void): void {
    this.#apply = apply;
  }

  /** Puts a changed configuration file into force, with the present providers of the database. @throws Error of the listener */
  replaceFile(config: ReadConfig): void {
    this.#put(config, this.#opened);
  }

  /** Reads the providers of the database, and puts a change into force. Never rejects: a failure is repeated later. */
  async read(): Promise<void> {
    clearTimeout(this.#retry);
    try {
      const { client, token } = this.#parts;
      const request = create(ListStoredProvidersRequestSchema);
      const method = ProviderService.method.listStoredProviders;
      const { providers } = await call(client, method, request, serviceMetadata(token), timeoutMs);
      this.#receive(providers.map((row) => this.#open(row)));
    } catch (error) {
      this.#parts.log.warn({ err: error }, "the providers of the database cannot be read; the last known ones stay");
      if (!this.#isStopped) this.#retry = setTimeout(() => void this.read(), retryMs).unref();
    }
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#retry);
  }

  /** Why a provider would not be in force beside the others; undefined for a valid one. */
  findProblem(provider: StoredProvider): string | undefined {
    const others = usable(this.#opened).filter(({ id }) => id !== provider.id);
    return this.#config.combine([...others, provider]).refused.get(provider.id);
  }

  /** API keys in the form of the database; empty without keys. */
  sealKeys(id: string, keys: readonly string[]): string {
    return keys.length === 0 ? "" : this.#seal.seal(keys, id);
  }

  #open(row: StoredRow): OpenedProvider {
    const settings = JSON.parse(Buffer.from(row.settingsJson).toString()) as JsonObject;
    const keys = row.sealedKeys === "" ? [] : this.#seal.open(row.sealedKeys, row.id);
    const isOpen = Array.isArray(keys);
    return { id: row.id, row, isOpen, settings: { ...settings, ...(isOpen && keys.length > 0 && { api_keys: keys }) } };
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

/** The providers whose keys are known. */
const usable = (opened: readonly OpenedProvider[]): StoredProvider[] =>
  opened.filter(({ isOpen }) => isOpen).map(({ id, settings }) => ({ id, settings }));
