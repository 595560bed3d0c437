/** THE order of layers, outermost first, with the reason for each place. */
import type { Logger } from "@sluice/proto/runtime/log.js";
import { inputGuardrail } from "./guardrails/input.ts";
import type { Catalog } from "./routing/catalog.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import { billed } from "./routing/bill.ts";
import { fallback } from "./routing/fallback.ts";
import { Router, noteCandidates } from "./routing/router.ts";
import { type Turn, compose } from "./turn/turn.ts";
import type { Upstreams } from "./upstream/providers.ts";

export interface Parts {
  readonly catalog: Catalog;
  readonly upstreams: Upstreams;
  /** What was seen of the endpoints; this process's own. */
  readonly records: EndpointRecords;
  /** Shared by all replicas. */
  readonly secret: string;
  /** Failed attempts are logged: their causes are shown to nobody. */
  readonly log: Pick<Logger, "warn">;
}

export const buildTurn = ({ catalog, upstreams, records, secret, log }: Parts): Turn => {
  const router = new Router({ catalog, telling: upstreams, secret, records });
  return compose(
    [
      // What could serve is known first, so that a refusal can name it, and so that a wrong slug costs nobody anything.
      noteCandidates(router),
      // Refuses before anything leaves the house or costs money.
      inputGuardrail,
    ],
    // Closest to the wire: a failed attempt is seen by nobody, and only before commit can it be repeated elsewhere.
    fallback(router, (endpoint) => billed(endpoint, upstreams.turn(endpoint)), log),
  );
};
