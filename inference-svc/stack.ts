/** THE order of layers, outermost first, with the reason for each place. */
import type { Logger } from "@sluice/proto/runtime/log.js";
import { inputGuardrail } from "./guardrails/input.ts";
import { type RefusalOf, noteCandidates } from "./routing/candidates.ts";
import type { Catalog } from "./routing/catalog.ts";
import { fallback } from "./routing/fallback.ts";
import { type Turn, compose } from "./turn/turn.ts";
import type { Upstreams } from "./upstream/providers.ts";

export interface Parts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  /** Failed attempts are logged: their causes are shown to nobody. */
  readonly log: Pick<Logger, "warn">;
}

export const buildTurn = ({ catalog, upstreams, log }: Parts): Turn => {
  const refusalOf: RefusalOf = (endpoint, request) => upstreams.refusal(endpoint, request);
  return compose(
    [
      // What could serve is known first, so that a refusal can name it, and so that a wrong slug costs nobody anything.
      noteCandidates(catalog, refusalOf),
      // Refuses before anything leaves the house or costs money.
      inputGuardrail,
    ],
    // Closest to the wire: a failed attempt is seen by nobody, and only before commit can it be repeated elsewhere.
    fallback(catalog, refusalOf, (endpoint) => upstreams.turn(endpoint), log),
  );
};
