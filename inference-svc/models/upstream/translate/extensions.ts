/** Settings that only some formats have. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { OnDropped } from "../dialect.ts";

/** Fields of the parsed request, by the settings' paths in the client's request. */
const extensions = {
  prediction: "predictionJson",
  anthropic_betas: "anthropicBetas",
  context_management: "contextManagementJson",
} as const satisfies Readonly<Record<string, keyof TurnRequest>>;

type Extension = keyof typeof extensions;

const entries = Object.entries(extensions) as (readonly [Extension, keyof TurnRequest])[];

/**
 * Reports the settings a format lacks.
 * @param taken settings the format has
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

/** The stop sequence a provider names, if the request contains it: no other text is passed to the client in this way. */
export const matchingStop = (stop: TurnRequest["stop"], named: unknown): string | undefined =>
  typeof named === "string" && stop?.includes(named) === true ? named : undefined;
