/** Features: the entries of the stack, each with a condition on requests and a layer. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Plugins, TurnRequest } from "./request.ts";
import { type Layer, type Turn, compose } from "./turn.ts";

/** A text in the settings of a plugin that leaves the process, so guardrails must scan it. */
export interface PluginText {
  readonly text: string;
  /** Inserts the redacted text into the settings; absent for names, which are scanned and never rewritten. */
  readonly replace?: (plugins: Plugins, redacted: string) => Plugins;
}

/** Lists the texts of one plugin; empty when the request does not use the plugin. */
export type PluginTexts = (plugins: Plugins) => readonly PluginText[];

interface FeatureEntry {
  /** Id of the plugin, or the name of a layer that belongs to no plugin. */
  readonly id: string;
  /** Whether the layer may act on the request. In doubt true: a feature left out by mistake silently does nothing. */
  readonly applies: (request: TurnRequest, caller: Caller) => boolean;
  readonly texts?: PluginTexts;
}

/** A feature whose layer reaches no model, service or web page; a dry run uses the same layer. */
interface LocalFeature<DryKit> extends FeatureEntry {
  readonly layer: (kit: DryKit) => Layer;
  readonly dryRun?: undefined;
}

/** A feature that calls models or services. The dry kit cannot call any, so the feature defines its dry run separately. */
export interface CallingFeatureOf<Kit, DryKit> extends FeatureEntry {
  readonly layer: (kit: Kit) => Layer;
  readonly dryRun: (kit: DryKit) => Layer;
}

/** An entry of the stack. A kit contains the dependencies from which layers are built. */
export type FeatureOf<Kit, DryKit = Kit> = LocalFeature<DryKit> | CallingFeatureOf<Kit, DryKit>;

type Applying = Pick<FeatureEntry, "applies">;

/** Number of bits a number represents exactly. */
const maxFeatures = 53;

/** The features that apply, with one bit for each. The mask is built without bitwise operators, which lose the bits above 32. */
export function featureMask(features: readonly Applying[], request: TurnRequest, caller: Caller): number {
  let mask = 0;
  let digit = 1;
  for (const feature of features) {
    if (feature.applies(request, caller)) mask += digit;
    digit *= 2;
  }
  return mask;
}

/** Maximum number of composed stacks, of some 2 KB each: clients could use any number of combinations of plugins. */
const maxStacks = 512;

/**
 * Runs each request through the layers of the features that apply to it. A stack is composed once for each combination.
 * @throws Error when there are more features than bits in a mask
 */
export function composeByMask(features: readonly Applying[], layers: readonly Layer[], innermost: Turn): Turn {
  if (features.length > maxFeatures) throw new Error(`a stack has at most ${maxFeatures} features`);
  const stacks = new Map<number, Turn>();
  const stackFor = (mask: number): Turn => {
    const stack = compose(selectLayers(layers, mask), innermost);
    if (stacks.size < maxStacks) stacks.set(mask, stack);
    return stack;
  };
  return (request, scope) => {
    const mask = featureMask(features, request, scope.caller);
    return (stacks.get(mask) ?? stackFor(mask))(request, scope);
  };
}

export const selectLayers = (layers: readonly Layer[], mask: number): readonly Layer[] =>
  layers.filter((_, place) => Math.floor(mask / 2 ** place) % 2 === 1);
