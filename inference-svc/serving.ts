/**
 * What a house file makes: the catalogue, the providers that are spoken to, and the stack of layers over them. Replaced as a whole when the file
 * changes; a turn goes on with what it began with.
 */
import { isDeepStrictEqual } from "node:util";
import type { HouseFile } from "@sluice/proto/runtime/house-file.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import type { Budgets } from "./ledger/budget.ts";
import type { CallLedger } from "./ledger/ledger.ts";
import { Catalog, type Endpoint } from "./routing/catalog.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { type Rehearse, type Stack, buildStack } from "./stack.ts";
import type { Turn } from "./turn/turn.ts";
import { type SdkPackages, noPackages } from "./upstream/ai-sdk/load.ts";
import { type Surroundings, type Upstreams, openUpstreams } from "./upstream/providers.ts";

export interface ServingParts {
  /** Of the house, for the user agent. */
  readonly version: string;
  /** Of the AI SDK, as they were loaded at the start. */
  readonly packages?: SdkPackages;
  readonly records: EndpointRecords;
  readonly ledger: CallLedger;
  readonly budgets: Pick<Budgets, "reserve">;
  /** Shared by all replicas. */
  readonly secret: string;
  readonly log: Pick<Logger, "warn" | "error">;
}

export class Serving {
  readonly #parts: ServingParts;
  #file: HouseFile;
  #catalog: Catalog;
  #upstreams: Upstreams;
  #stack: Stack;

  constructor(parts: ServingParts, file: HouseFile) {
    this.#parts = parts;
    this.#file = file;
    this.#catalog = new Catalog(file);
    this.#upstreams = openUpstreams(file.providers, this.#surroundings);
    this.#stack = this.#build();
  }

  get file(): HouseFile {
    return this.#file;
  }

  get catalog(): Catalog {
    return this.#catalog;
  }

  readonly turn: Turn = (request, scope) => this.#stack.turn(request, scope);

  readonly rehearse: Rehearse = (request, scope) => this.#stack.rehearse(request, scope);

  replace(file: HouseFile): void {
    const { records } = this.#parts;
    const catalog = new Catalog(file);
    passRecords(this.#catalog, catalog, records);
    this.#upstreams = openUpstreams(file.providers, this.#surroundings, this.#upstreams);
    this.#file = file;
    this.#catalog = catalog;
    this.#stack = this.#build();
  }

  /** Waits for running exchanges. */
  close(): Promise<void> {
    return this.#upstreams.close();
  }

  get #surroundings(): Surroundings {
    const { version, packages = noPackages, log, records } = this.#parts;
    return { version, packages, log, now: records.now };
  }

  #build(): Stack {
    const { internal_models: internalModels } = this.#file;
    const { records, ledger, budgets, secret, log } = this.#parts;
    return buildStack({
      catalog: this.#catalog,
      upstreams: this.#upstreams,
      internalModels,
      records,
      ledger,
      budgets,
      secret,
      log,
    });
  }
}

/** What was seen of an endpoint holds as long as its provider is the same: a new key or address deserves a new trial. */
function passRecords(before: Catalog, now: Catalog, records: EndpointRecords): void {
  const endpoints = ({ models }: Catalog) => models.flatMap((model) => model.endpoints);
  const known = new Map(endpoints(before).map((endpoint) => [nameOf(endpoint), endpoint]));
  for (const endpoint of endpoints(now)) {
    const old = known.get(nameOf(endpoint));
    const same = isDeepStrictEqual(before.providers.get(endpoint.provider), now.providers.get(endpoint.provider));
    if (old && same) records.pass(old, endpoint);
  }
}

const nameOf = ({ model, seed }: Endpoint): string => `${model} ${seed.high} ${seed.low}`;
