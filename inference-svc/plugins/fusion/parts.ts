/** What a run takes from the rest of the house. */
import type { FusionPresets } from "@sluice/proto/runtime/house/fusion.js";
import { patience } from "../../fusion/panel.ts";
import type { Catalog } from "../../routing/catalog.ts";
import { type LoopParts, serverTools } from "../../tools/loop.ts";
import { canHave } from "../../tools/toolbox.ts";
import { type Turn, compose } from "../../turn/turn.ts";
import type { FusionParts } from "./layer.ts";

interface House {
  readonly catalog: Catalog;
  readonly presets: FusionPresets;
  readonly loop: LoopParts;
  /** Asks the endpoints of a model, past all layers. */
  readonly asked: Turn;
}

/** UTF-16 units: less than most texts have, so that what is cut to a window fits into it. */
const unitsPerToken = 3;

export function fusionParts({ catalog, presets, loop, asked }: House): FusionParts {
  const { guards, gates } = loop;
  const settingsOf = (slug: string) => catalog.find(slug)?.model.settings;
  return {
    settings: {
      presets,
      hasModel: (slug) => settingsOf(slug) !== undefined,
      hasTool: (tool, models, scope) => canHave(tool, models, scope, loop),
    },
    // As a request of its own would be: with tools, and under the guardrails of the key.
    ask: compose([...guards, serverTools(loop), ...gates], asked),
    room(slug, wanted) {
      const { context_length: window = Number.POSITIVE_INFINITY, max_output_tokens: most = wanted } =
        settingsOf(slug) ?? {};
      return Math.min(wanted, most, Math.floor(window / 2));
    },
    window: (slug) => (settingsOf(slug)?.context_length ?? Number.POSITIVE_INFINITY) * unitsPerToken,
    patience,
    guards,
    gates,
  };
}
