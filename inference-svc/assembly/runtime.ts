/**
 * Everything built from the configuration file: connections to providers and detectors, the web client, and the stack
 * of layers. A reload replaces all of it at once; a running turn keeps the parts it began with.
 */
import { isDeepStrictEqual } from "node:util";
import type { ConfigFile } from "@sluice/proto/config/config-file.js";
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import type { PlanDryRun } from "../engine/dry-run-plan.ts";
import type { DocumentReaders } from "../content/files/documents/readers.ts";
import { FileReader } from "../content/files/texts.ts";
import type { CallWatch } from "../services/detection/detector.ts";
import type { Budgets } from "../models/ledger/budget.ts";
import type { CallLedger } from "../models/ledger/ledger.ts";
import type { CalledEndpoint } from "../models/ledger/recorded.ts";
import { meterServices } from "../models/ledger/metered-services.ts";
import { combineWatches } from "../services/detection/detector-watches.ts";
import type { OpenMeter } from "../models/ledger/service-meter.ts";
import type { CurrentConfig } from "../engine/current-config.ts";
import { Catalog, endpointName } from "../models/routing/catalog.ts";
import type { EndpointRecords } from "../models/routing/records/endpoint-record.ts";
import { learnedTasks } from "../features/routers/auto/tasks/learned.ts";
import { McpServers, type McpWatch } from "../features/mcp/client.ts";
import { type Stack, type TryGuardrail, buildStack } from "../stack.ts";
import { Sandbox, type SandboxWatch } from "../features/sandbox/client.ts";
import type { Turn } from "../turn/turn.ts";
import { type SdkPackages, noPackages } from "../models/upstream/ai-sdk/load.ts";
import { type Detectors, openDetectors } from "../services/detection/open-detectors.ts";
import { type OpenedModeration, openModeration } from "../features/moderation/client.ts";
import { type ProviderDependencies, type Upstreams, openUpstreams } from "../models/upstream/providers.ts";
import { PageReaders } from "../features/web/page-readers.ts";
import { systemResolve } from "../services/public-web/fetch-target.ts";
import { VectorStores } from "../features/vector-stores/client.ts";
import { PassedAddresses } from "../features/web/passed-addresses.ts";
import { Web } from "../features/web/client.ts";
import type { WebWatch } from "../services/guarded-service.ts";
import { recordedService } from "../services/detection/recorded-detector.ts";

export interface RuntimeDeps {
  /** Version of Sluice, for the user agent. */
  readonly version: string;
  /** AI SDK packages loaded at the start. */
  readonly packages?: SdkPackages;
  readonly records: EndpointRecords;
  readonly ledger: CallLedger;
  readonly budgets: Pick<Budgets, "reserve" | "begin">;
  readonly documents: DocumentReaders;
  /** Observes every call to a detector. */
  readonly watchDetector: CallWatch;
  /** Observes every web search and fetched page. */
  readonly watchWeb: WebWatch;
  /** Observes every run in the sandbox. */
  readonly watchSandbox: SandboxWatch;
  /** Observes every request to an MCP server. */
  readonly watchMcp: McpWatch;
  /** Secret for keyed hashes, shared by all replicas. */
  readonly secret: string;
  readonly log: Pick<Logger, "error" | "info" | "warn">;
}

export class Runtime {
  readonly #parts: RuntimeDeps;
  readonly #config: CurrentConfig;
  #upstreams: Upstreams;
  #detectors: Detectors;
  #moderation: OpenedModeration | undefined;
  readonly #readers = new PageReaders();
  readonly #files: FileReader;
  readonly #meter: OpenMeter;
  #web: Web;
  #sandbox: Sandbox | undefined;
  #mcp: McpServers;
  #vectorStores: VectorStores;
  #stack: Stack;

  constructor(parts: RuntimeDeps, config: CurrentConfig) {
    const { file } = config;
    this.#parts = parts;
    this.#config = config;
    this.#files = new FileReader(parts.documents);
    this.#meter = meterServices(parts);
    this.#upstreams = openUpstreams(file.providers, this.#surroundings);
    this.#detectors = this.#openDetectors(file.detectors);
    this.#moderation = this.#openModeration(file);
    this.#web = this.#openWeb(file);
    this.#sandbox = this.#openSandbox(file);
    this.#mcp = this.#openMcp(file);
    this.#vectorStores = this.#openVectorStores(file);
    this.#stack = this.#build();
  }

  readonly turn: Turn = (request, scope) => this.#stack.turn(request, scope);

  /** Runs an embeddings request. */
  readonly embed: Turn = (request, scope) => this.#stack.embed(request, scope.with({ operation: "embed" }));

  readonly planDryRun: PlanDryRun = (request, scope) => this.#stack.planDryRun(request, scope);

  readonly planEmbedDryRun: PlanDryRun = (request, scope) => this.#stack.planEmbedDryRun(request, scope);

  readonly tryGuardrail: TryGuardrail = (text, scope) => this.#stack.tryGuardrail(text, scope);

  replace(file: ConfigFile): void {
    const { records } = this.#parts;
    const catalog = new Catalog(file);
    carryOverRecords(this.#config.catalog, catalog, records);
    this.#upstreams = openUpstreams(file.providers, this.#surroundings, this.#upstreams);
    this.#detectors = this.#openDetectors(file.detectors, this.#detectors);
    this.#moderation = this.#openModeration(file, this.#moderation);
    this.#web.retire();
    this.#web = this.#openWeb(file);
    this.#sandbox?.retire();
    this.#sandbox = this.#openSandbox(file);
    this.#mcp = this.#openMcp(file);
    this.#vectorStores.retire();
    this.#vectorStores = this.#openVectorStores(file);
    this.#config.file = file;
    this.#config.catalog = catalog;
    this.#stack = this.#build();
  }

  /** Waits for the running exchanges with providers. */
  async close(): Promise<void> {
    const { service: moderation } = this.#moderation ?? {};
    await Promise.all([this.#upstreams.close(), this.#detectors.close(), moderation?.close()]);
    await Promise.all([this.#web.close(), this.#sandbox?.close(), this.#vectorStores.close(), this.#readers.close()]);
  }

  get #surroundings(): ProviderDependencies {
    const { version, packages = noPackages, log, records } = this.#parts;
    return { version, packages, log, now: records.now };
  }

  #openDetectors(all: readonly DetectorSettings[], before?: Detectors): Detectors {
    const { version, watchDetector: watch, records } = this.#parts;
    return openDetectors(all, { version, watch, now: records.now }, before);
  }

  #openModeration(file: ConfigFile, before?: OpenedModeration): OpenedModeration | undefined {
    const { version, watchDetector, ledger, records } = this.#parts;
    const watch = (callee: CalledEndpoint) =>
      combineWatches([recordedService(ledger, callee, "moderation"), watchDetector]);
    return openModeration(file, { version, watch, now: records.now }, before);
  }

  #openWeb(file: ConfigFile): Web {
    const { version, watchWeb: watch, documents, records, log } = this.#parts;
    const { now } = records;
    const parts = { version, watch, meter: this.#meter, readers: this.#readers, documents, now, log };
    return new Web(file, { ...parts, resolve: systemResolve });
  }

  #openSandbox({ sandbox: settings }: ConfigFile): Sandbox | undefined {
    const { version, watchSandbox: watch, records, log } = this.#parts;
    return settings && new Sandbox(settings, { version, watch, meter: this.#meter, now: records.now, log });
  }

  #openMcp({ mcp }: ConfigFile): McpServers {
    const { version, watchMcp: watch, log } = this.#parts;
    return new McpServers(mcp, { version, watch, meter: this.#meter, log, resolve: systemResolve });
  }

  #openVectorStores({ file_search: settings }: ConfigFile): VectorStores {
    const { version, watchWeb: watch, records, log } = this.#parts;
    return new VectorStores(settings, { version, watch, meter: this.#meter, now: records.now, log });
  }

  #build(): Stack {
    const { file } = this.#config;
    const { internal_models: internalModels, alignment, tracing, fusion, tools, auto_router: autoRouter } = file;
    const { records, ledger, budgets, secret, log } = this.#parts;
    return buildStack({
      catalog: this.#config.catalog,
      upstreams: this.#upstreams,
      unavailableTools: tools.unavailable,
      internalModels,
      detectors: this.#detectors.byId,
      moderation: this.#moderation?.detectors,
      web: this.#web,
      addresses: new PassedAddresses(file, systemResolve, records.now),
      sandbox: this.#sandbox,
      mcp: this.#mcp,
      vectorStores: this.#vectorStores,
      alignment,
      tracing,
      fusionPresets: fusion.presets,
      records,
      ledger,
      findTask: learnedTasks(autoRouter.learning_share),
      budgets,
      files: this.#files,
      secret,
      log,
    });
  }
}

/** Keeps the success and failure records for endpoints of unchanged providers. A provider with a new key or address starts without a record. */
function carryOverRecords(before: Catalog, now: Catalog, records: EndpointRecords): void {
  const endpoints = ({ models }: Catalog) => models.flatMap((model) => model.endpoints);
  const known = new Map(endpoints(before).map((endpoint) => [endpointName(endpoint), endpoint]));
  for (const endpoint of endpoints(now)) {
    const old = known.get(endpointName(endpoint));
    const same = isDeepStrictEqual(before.providers.get(endpoint.provider), now.providers.get(endpoint.provider));
    if (old && same) records.carryOver(old, endpoint);
  }
}
