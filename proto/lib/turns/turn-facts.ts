/** The record of a turn without the numbers set by a process. */
import { CallOperation, type TurnRecord } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";

export type TurnFacts = Omit<TurnRecord, "$typeName" | "$unknown" | "bootId" | "sequence" | "instance">;

const doors: ReadonlySet<string> = new Set(["responses", "chat", "messages", "embeddings"]);

/** The client's format. Unknown values sent by callers of RunTurn become `other`, to keep them out of labels and reports. */
export const doorWord = (door: string): string => (door === "" ? "responses" : doors.has(door) ? door : "other");

export const turnOperation = (door: string): CallOperation =>
  door === "embeddings" ? CallOperation.EMBED : CallOperation.TURN;

/** Maximum length of a model name in the record of a turn. A client may send any text. */
const maxModel = 256;

/** @param models the first model counts when `model` is empty */
export const requestedModel = (model: string, models: readonly string[]): string =>
  (model || models[0] || "").slice(0, maxModel);
