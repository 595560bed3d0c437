/**
 * The kit with which the features of the stack build their layers, and the smaller kit of dry runs, which can reach no
 * model, service or web page.
 */
import type * as Generic from "../turn/feature.ts";
import type { AlignmentSettings } from "@sluice/proto/config/alignment.js";
import type { TracingContent } from "@sluice/proto/config/tracing.js";
import type { JudgeSettings } from "@sluice/proto/config/internal-models.js";
import type { InternalModels } from "@sluice/proto/config/config-file.js";
import type { FileReader } from "../content/files/texts.ts";
import type { FusionRunDeps } from "./fusion/run.ts";
import type { SettingsParts } from "./fusion/settings.ts";
import type { DetectorMap, DryDetectorMap } from "./guardrails/detected/rules.ts";
import type { Budgets } from "../models/ledger/budget.ts";
import type { AddedScanner } from "../turn/scan-added.ts";
import { Judge, type JudgeOptions, JudgeProfile } from "../models/internal-calls/judge.ts";
import { Router } from "../models/routing/choose/router.ts";
import type { OpenedTools } from "./server-tools/feature.ts";
import type { LoopDeps } from "../agent-loop/loop/loop.ts";
import { StateSeal } from "../content/sealed-state.ts";
import type { PluginTexts } from "../turn/feature.ts";
import type { Permissions } from "../turn/permissions.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import type { Layer, Turn } from "../turn/turn.ts";
import type { ModerationDetectors } from "./moderation/client.ts";
import type { Upstreams } from "../models/upstream/providers.ts";
import type { SearchEngine } from "./web/search-engine.ts";
import type { PassedAddresses } from "./web/passed-addresses.ts";
import type { Web } from "./web/client.ts";

/** An entry of the stack. Its dry run gets only the dry kit: it cannot call anything by mistake. */
export type Feature = Generic.FeatureOf<Kit, DryKit>;

export type CallingFeature = Generic.CallingFeatureOf<Kit, DryKit>;

export interface DryKit {
  readonly router: Router;
  /** Builds the request in an endpoint's format, and tells the fields its dialect cannot express. */
  readonly dialects: Pick<Upstreams, "refusal" | "droppedFields" | "preview">;
  readonly addresses: PassedAddresses;
  readonly files: FileReader;
  readonly roles: InternalModels;
  /** Seals the state of compacted conversations. */
  readonly compactionSeal: StateSeal;
  readonly alignment: AlignmentSettings;
  /** Settings for prompts and answers in traces. */
  readonly tracing: TracingContent;
  readonly fusionSettings: SettingsParts;
  readonly detectors: DryDetectorMap;
  readonly guardJudge: JudgeProfile | undefined;
  readonly hasModerationService: boolean;
  readonly pluginTexts: readonly PluginTexts[];
  /** Finds a search engine. @param name empty for the default engine of the configuration file */
  readonly searchEngine: (name: string, permissions?: Permissions) => Pick<SearchEngine, "id" | "knows"> | undefined;
  readonly openTools: (request: TurnRequest, scope: Scope) => OpenedTools | undefined;
  /** Converts a request to the form sent to providers, with functions in place of Sluice's tools. */
  readonly toProviderRequest: (request: TurnRequest, scope: Scope) => TurnRequest;
}

export interface Kit extends DryKit {
  /** Calls the endpoints of a model directly, without layers. */
  readonly callModel: Turn;
  readonly judge: (role: JudgeSettings, options?: JudgeOptions) => Judge;
  readonly web: Web;
  readonly detectors: DetectorMap;
  readonly guardJudge: Judge | undefined;
  readonly budgets: Pick<Budgets, "begin">;
  readonly moderationService: ModerationDetectors | undefined;
  /** Redacts or refuses texts added to a running request, before a model reads them. */
  readonly scan: AddedScanner;
  /** The layers that `scan` consists of, for features that run them around work of their own. */
  readonly guards: readonly Layer[];
  /** Layers that scan delivered output other than the model's own answer. */
  readonly gates: readonly Layer[];
  readonly fusion: FusionRunDeps;
  readonly loop: LoopDeps;
}
