/** A command sent to another Sluice installation. */
import { UsageError } from "@sluice/proto/lib/process/cli.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import type { RemoteSluice } from "./client.ts";

/** @returns the lines to print */
export type RemoteCommand = (args: string[], sluice: RemoteSluice) => Promise<readonly string[]>;

export type RemoteCommands = Readonly<Record<string, RemoteCommand>>;

/** The external id, as the first argument, and the other arguments. @throws UsageError */
export function takeExternalId([externalId = "", ...rest]: readonly string[]) {
  if (externalId === "" || externalId.startsWith("-")) throw new UsageError("missing argument: EXTERNAL_ID");
  return { parameters: { external_id: externalId }, rest };
}

/** The result lines of a PUT of a record. */
export function putLines(answer: JsonObject, name: "hash" | "id", asJson: boolean): string[] {
  const { data, created, changed } = answer;
  const done = created === true ? "made" : changed === true ? "changed" : "was so already";
  return [asJson ? JSON.stringify(answer) : `${String((data as JsonObject)[name])} ${done}`];
}

/** The body of a request without unset settings. */
export const withoutUnset = (settings: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
