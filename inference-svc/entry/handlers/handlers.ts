/** The InferenceService of this process: RunTurn, CreateResponse, Session, DryRun, CountTokens, Embed, DryRunEmbed and the catalogue, with one engine. */
import type { ConnectRouter } from "@connectrpc/connect";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { pathOf } from "@sluice/proto/lib/rpc/dial.js";
import type { InternalCalls } from "@sluice/proto/lib/rpc/internal-streams.js";
import type { Connect } from "@sluice/proto/lib/lane/link.js";
import { type CatalogueDeps, catalogueHandlers } from "./catalogue.ts";
import { type ConfiguredProvidersDeps, configuredProvidersHandlers } from "./configured-providers.ts";
import { type ConfigurationDeps, findConfigRefusalHandler } from "./configuration.ts";
import { type CountTokensDeps, countTokensHandler } from "./count-tokens.ts";
import { createResponseHandler } from "./create-response.ts";
import { type DryRunDeps, dryRunEmbedHandler, dryRunHandler } from "./dry-run.ts";
import { type EmbedDeps, embedHandler } from "./embed.ts";
import { type LocalServersDeps, findLocalServersHandler } from "./local-servers.ts";
import { type OpenTurnsDeps, openTurnsHandlers } from "./open-turns.ts";
import { type RecordRefusalsDeps, recordRefusalsHandler } from "./record-refusals.ts";
import { runTurnHandler } from "./run-turn.ts";
import { type SessionDeps, SessionHandler } from "./session.ts";
import type { SharedTurnDeps } from "./shared-turn.ts";
import { type TestProviderDeps, testProviderHandler } from "./test-provider.ts";
import { type TryGuardrailDeps, tryGuardrailHandler } from "./try-guardrail.ts";

export type HandlerDeps = SharedTurnDeps &
  SessionDeps &
  DryRunDeps &
  CountTokensDeps &
  EmbedDeps &
  CatalogueDeps &
  RecordRefusalsDeps &
  TryGuardrailDeps &
  TestProviderDeps &
  ConfiguredProvidersDeps &
  LocalServersDeps &
  OpenTurnsDeps &
  ConfigurationDeps;

export class InferenceHandlers {
  readonly #deps: HandlerDeps;
  readonly #sessions: SessionHandler;

  constructor(deps: HandlerDeps) {
    this.#deps = deps;
    this.#sessions = new SessionHandler(deps);
    this.internalCalls = new Map([[pathOf(InferenceService.method.session), this.#sessions.serve]]);
    this.connectHere = this.#sessions.connectHere;
  }

  readonly routes = (router: ConnectRouter): void => {
    router.service(InferenceService, {
      runTurn: runTurnHandler(this.#deps),
      createResponse: createResponseHandler(this.#deps),
      dryRun: dryRunHandler(this.#deps),
      countTokens: countTokensHandler(this.#deps),
      embed: embedHandler(this.#deps),
      dryRunEmbed: dryRunEmbedHandler(this.#deps),
      recordRefusals: recordRefusalsHandler(this.#deps),
      ...catalogueHandlers(this.#deps),
      tryGuardrail: tryGuardrailHandler(this.#deps),
      testProvider: testProviderHandler(this.#deps),
      ...configuredProvidersHandlers(this.#deps),
      findLocalServers: findLocalServersHandler(this.#deps),
      ...openTurnsHandlers(this.#deps),
      findConfigRefusal: findConfigRefusalHandler(this.#deps),
    });
  };

  readonly internalCalls: InternalCalls;

  /** Opens a session to a gateway of this process. */
  readonly connectHere: Connect;

  /** Tells the gateways of all sessions to open no more turns; each gateway ends its session after its last turn. */
  drain(): void {
    this.#sessions.drain();
  }
}
