/** The record of a turn before a process has numbered it. */
import { CallOperation, type TurnRecord } from "../../gen/sluice/admin/v1/ledger_service_pb.ts";

export type TurnFacts = Omit<TurnRecord, "$typeName" | "$unknown" | "bootId" | "sequence" | "instance">;

const doors: ReadonlySet<string> = new Set(["responses", "chat", "messages", "embeddings"]);

/** The format of the client. What a caller of RunTurn invents is `other`, so that it becomes no label and no line of a report. */
export const doorWord = (door: string): string => (door === "" ? "responses" : doors.has(door) ? door : "other");

export const turnOperation = (door: string): CallOperation =>
  door === "embeddings" ? CallOperation.EMBED : CallOperation.TURN;

/** Longest name of a model in the record of a turn. A client may ask for any text. */
const maxModel = 256;

/** @param models of which the first one counts when `model` is empty */
export const askedModel = (model: string, models: readonly string[]): string =>
  (model || models[0] || "").slice(0, maxModel);
