/** Connects models called by a tool or plugin, such as the fusion panel, to the catalogue and the agent loop. */
import type { Catalog } from "../models/routing/catalog.ts";
import { permittedSlugs } from "../models/routing/choose/permitted-endpoints.ts";
import type { HostedTool } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Turn, compose } from "../turn/turn.ts";
import { type LoopDeps, serverTools } from "./loop/loop.ts";
import { canOfferTool } from "./opened-tools.ts";

/** UTF-16 units assumed per token. A low estimate, so a text cut to a model's window fits it. */
const unitsPerToken = 3;

/** Models called by tools and plugins to answer part of a request. */
export interface CalledModels {
  /** Calls a model through the key's guardrails. Server tools are not run. */
  readonly callModel: Turn;
  /** Calls a model in the agent loop; the loop keeps the conversation when it stops for functions of the client. */
  readonly callWorker: Turn;
  readonly hasModel: (slug: string) => boolean;
  /** Filters models by the permissions of the key. @throws Fault PERMISSION_DENIED when the key may use none of them */
  readonly permitted: (slugs: readonly string[], scope: Scope) => readonly string[];
  /** Whether every one of the models can use the tool. */
  readonly hasTool: (tool: HostedTool, models: readonly string[], scope: Scope) => boolean;
  /** Limits a number of output tokens to the model's maximum. */
  readonly room: (slug: string, wanted: number) => number;
  /** Approximate maximum input of the model in UTF-16 units. */
  readonly window: (slug: string) => number;
  /** The model's output modalities, such as text and image. */
  readonly outputs: (slug: string) => readonly string[];
}

interface ModelSources {
  readonly catalog: Catalog;
  readonly loop: LoopDeps;
  /** Calls the endpoints of a model directly, without any layers. */
  readonly callModel: Turn;
}

export function buildCalledModels({ catalog, loop, callModel }: ModelSources): CalledModels {
  const { guards, gates } = loop;
  const limitsOf = (slug: string) => catalog.find(slug)?.model.settings;
  return {
    callModel: compose([...guards, serverTools(loop), ...gates], callModel),
    callWorker: compose([...guards, serverTools(loop, true), ...gates], callModel),
    hasModel: (slug) => catalog.find(slug) !== undefined,
    permitted: (slugs, { permissions }) => permittedSlugs(catalog, slugs, permissions),
    hasTool: (tool, models, scope) => canOfferTool(tool, models, scope, loop),
    room(slug, wanted) {
      const { context_length: window = Number.POSITIVE_INFINITY, max_output_tokens: max = wanted } =
        limitsOf(slug) ?? {};
      return Math.min(wanted, max, Math.floor(window / 2));
    },
    window: (slug) => (limitsOf(slug)?.context_length ?? Number.POSITIVE_INFINITY) * unitsPerToken,
    outputs: (slug) => limitsOf(slug)?.output_modalities ?? [],
  };
}
