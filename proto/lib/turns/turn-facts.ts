/** The fields of a turn's record other than the numbers that a process assigns. */
import { CallOperation, type TurnRecord } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";

export type TurnFacts = Omit<TurnRecord, "$typeName" | "$unknown" | "bootId" | "sequence" | "instance">;

const doors: ReadonlySet<string> = new Set(["responses", "chat", "messages", "embeddings"]);

/**
 * API format of the client. Unknown values from callers of RunTurn become `other`, to keep them out of metric labels
 * and reports.
 */
export const doorWord = (door: string): string => (door === "" ? "responses" : doors.has(door) ? door : "other");

export const turnOperation = (door: string): CallOperation =>
  door === "embeddings" ? CallOperation.EMBED : CallOperation.TURN;

/** Maximum length of a model name in a turn's record, because a client may send any text. */
const maxModel = 256;

/** The requested model. @param models of which the first counts when `model` is empty */
export const requestedModel = (model: string, models: readonly string[]): string =>
  (model || models[0] || "").slice(0, maxModel);
