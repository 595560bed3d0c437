/**
 * What a house file makes: the catalogue, the providers that are spoken to, and the stack of layers over them. Replaced as a whole when the file
 * changes; a turn goes on with what it began with.
 */
import { isDeepStrictEqual } from "node:util";
import type { HouseFile } from "@sluice/proto/runtime/house-file.js";
import type { DetectorSettings } from "@sluice/proto/runtime/house/detectors.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import type { Rehearse } from "./dry-stack.ts";
import type { FileReader } from "./files/texts.ts";
import type { CallWatch } from "./internal/detection/detector.ts";
import type { Budgets } from "./ledger/budget.ts";
import type { CallLedger } from "./ledger/ledger.ts";
import type { Callee } from "./ledger/recorded.ts";
import { recordedService } from "./ledger/recorded-service.ts";
import { watchedBy } from "./observe/detector-calls.ts";
import { Catalog, type Endpoint } from "./routing/catalog.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { type Stack, buildStack } from "./stack.ts";
import type { Turn } from "./turn/turn.ts";
import { type SdkPackages, noPackages } from "./upstream/ai-sdk/load.ts";
import { type Detectors, openDetectors } from "./upstream/detectors.ts";
import { type OpenedModeration, openModeration } from "./upstream/moderation.ts";
import { type Surroundings, type Upstreams, openUpstreams } from "./upstream/providers.ts";
import { Readers } from "./web/readers.ts";
import { systemResolve } from "./web/target.ts";
import { Web, type WebWatch } from "./web/web.ts";

export interface ServingParts {
  /** Of the house, for the user agent. */
  readonly version: string;
  /** Of the AI SDK, as they were loaded at the start. */
  readonly packages?: SdkPackages;
  readonly records: EndpointRecords;
  readonly ledger: CallLedger;
  readonly budgets: Pick<Budgets, "reserve">;
  readonly files: FileReader;
  /** Hears of every call to a detector. */
  readonly watchDetector: CallWatch;
  /** Hears of everything that is asked of the web. */
  readonly watchWeb: WebWatch;
  /** Shared by all replicas. */
  readonly secret: string;
  readonly log: Pick<Logger, "error" | "info" | "warn">;
}

export class Serving {
  readonly #parts: ServingParts;
  #file: HouseFile;
  #catalog: Catalog;
  #upstreams: Upstreams;
  #detectors: Detectors;
  #moderation: OpenedModeration | undefined;
  readonly #readers = new Readers();
  #web: Web;
  #stack: Stack;

  constructor(parts: ServingParts, file: HouseFile) {
    this.#parts = parts;
    this.#file = file;
    this.#catalog = new Catalog(file);
    this.#upstreams = openUpstreams(file.providers, this.#surroundings);
    this.#detectors = this.#openDetectors(file.detectors);
    this.#moderation = this.#openModeration(file);
    this.#web = this.#openWeb(file);
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
    this.#detectors = this.#openDetectors(file.detectors, this.#detectors);
    this.#moderation = this.#openModeration(file, this.#moderation);
    this.#web.retire();
    this.#web = this.#openWeb(file);
    this.#file = file;
    this.#catalog = catalog;
    this.#stack = this.#build();
  }

  /** Waits for running exchanges. */
  async close(): Promise<void> {
    const { service: moderation } = this.#moderation ?? {};
    await Promise.all([this.#upstreams.close(), this.#detectors.close(), moderation?.close()]);
    await Promise.all([this.#web.close(), this.#readers.close()]);
  }

  get #surroundings(): Surroundings {
    const { version, packages = noPackages, log, records } = this.#parts;
    return { version, packages, log, now: records.now };
  }

  #openDetectors(all: readonly DetectorSettings[], before?: Detectors): Detectors {
    const { version, watchDetector: watch, records } = this.#parts;
    return openDetectors(all, { version, watch, now: records.now }, before);
  }

  #openModeration(file: HouseFile, before?: OpenedModeration): OpenedModeration | undefined {
    const { version, watchDetector, ledger, records } = this.#parts;
    const watch = (callee: Callee) => watchedBy([recordedService(ledger, callee, "moderation"), watchDetector]);
    return openModeration(file, { version, watch, now: records.now }, before);
  }

  #openWeb(file: HouseFile): Web {
    const { version, watchWeb: watch, records } = this.#parts;
    return new Web(file, { version, watch, readers: this.#readers, resolve: systemResolve, now: records.now });
  }

  #build(): Stack {
    const { internal_models: internalModels, alignment, fusion, tools } = this.#file;
    const { records, ledger, budgets, files, secret, log } = this.#parts;
    return buildStack({
      catalog: this.#catalog,
      upstreams: this.#upstreams,
      unavailableTools: tools.unavailable,
      internalModels,
      detectors: this.#detectors.byId,
      moderation: this.#moderation?.detector,
      web: this.#web,
      alignment,
      fusionPresets: fusion.presets,
      records,
      ledger,
      budgets,
      files,
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
