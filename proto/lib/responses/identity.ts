/** The part of a response object known before its turn begins. */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { newId } from "../ids/id.ts";
import type { Echo } from "./echo.ts";

export interface ResponseIdentity {
  /** resp_... */
  readonly id: string;
  /** Epoch seconds. */
  readonly createdAt: number;
  /** Epoch seconds, the same at every call; the present time when absent. */
  readonly completedAt?: () => number;
  /** The slug in the request. */
  readonly model: string;
  readonly echo: Echo;
  /** Second name of `service_metadata`. */
  readonly metadataAlias?: string | undefined;
}

/** The present time in epoch seconds. */
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

/** Calls `read` once and repeats its value, because several clients may get the same end of a turn. */
function fixed(read: () => number): () => number {
  let value: number | undefined;
  return () => (value ??= read());
}
