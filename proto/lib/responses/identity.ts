/** The part of a response object that is known before its turn begins. */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { newId } from "../ids/id.ts";
import type { Echo } from "./echo.ts";

export interface ResponseIdentity {
  /** Id of the response, such as resp_... */
  readonly id: string;
  /** Creation time in seconds since 1970. */
  readonly createdAt: number;
  /**
   * Returns the completion time in seconds since 1970, always the same; without this function, the present time is
   * used.
   */
  readonly completedAt?: () => number;
  /** Slug of the model as the request names it. */
  readonly model: string;
  readonly echo: Echo;
  /** Second name of `service_metadata`. */
  readonly metadataAlias?: string | undefined;
}

/** The present time in seconds since 1970. */
export const seconds = (): number => Math.floor(Date.now() / 1000);

/** @param metadataAlias second name of `service_metadata`; null for none */
export const identifyResponse = (
  { model, models }: Pick<RunTurnRequest, "model" | "models">,
  echo: Echo,
  metadataAlias: string | null,
  createdAt = seconds(),
): ResponseIdentity => ({
  id: newId("resp_"),
  createdAt,
  completedAt: fixed(seconds),
  model: model === "" ? (models[0] ?? "") : model,
  echo,
  metadataAlias: metadataAlias ?? undefined,
});

/**
 * Returns a function that calls `read` once and then repeats its value, because several clients may get the same end of
 * a turn.
 */
function fixed(read: () => number): () => number {
  let value: number | undefined;
  return () => (value ??= read());
}
