/** Settings supported only by some formats. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";

/** Paths in the request and the fields of the checked request. */
const extensions = {
  prediction: "predictionJson",
  anthropic_betas: "anthropicBetas",
  context_management: "contextManagementJson",
} as const satisfies Readonly<Record<string, keyof TurnRequest>>;

type Extension = keyof typeof extensions;

const entries = Object.entries(extensions) as (readonly [Extension, keyof TurnRequest])[];

/**
 * Reports the settings without a field in a format.
 * @param taken settings with a field in it
 */
export function dropExtensions(
  request: TurnRequest,
  onDropped: OnDropped,
  taken: readonly Extension[],
  reason = "the format has no field for it",
): void {
  for (const [path, field] of entries) {
    if (request[field] !== undefined && !taken.includes(path)) onDropped(path, reason);
  }
}

/** The stop text named by a provider, if it is in the request: only the client's own texts go back to it this way. */
export const matchingStop = (stop: TurnRequest["stop"], named: unknown): string | undefined =>
  typeof named === "string" && stop?.includes(named) === true ? named : undefined;
