/** A command acting on another Sluice installation. */
import { UsageError } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { RemoteSluice } from "./client.ts";

/** @returns the lines to print */
export type RemoteCommand = (args: string[], sluice: RemoteSluice) => Promise<readonly string[]>;

export type RemoteCommands = Readonly<Record<string, RemoteCommand>>;

/**
 * Splits the arguments into the external id, which comes first, and the rest. @throws UsageError without an external id
 */
export function takeExternalId([externalId = "", ...rest]: readonly string[]) {
  if (externalId === "" || externalId.startsWith("-")) throw new UsageError("missing argument: EXTERNAL_ID");
  return { parameters: { external_id: externalId }, rest };
}

/** The lines printed after a PUT of a record. */
export function putLines(answer: JsonObject, name: "hash" | "id", asJson: boolean): string[] {
  const { data, created, changed } = answer;
  const done = created === true ? "made" : changed === true ? "changed" : "was so already";
  return [asJson ? JSON.stringify(answer) : `${String((data as JsonObject)[name])} ${done}`];
}

/** Leaves out undefined settings. */
export const withoutUnset = (settings: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
