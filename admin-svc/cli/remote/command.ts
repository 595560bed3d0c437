/** A command that speaks to another Sluice. */
import type { JsonObject } from "@sluice/proto/runtime/validation/fields.js";
import type { RemoteSluice } from "./client.ts";

/** @returns the lines to print */
export type RemoteCommand = (args: string[], sluice: RemoteSluice) => Promise<readonly string[]>;

export type RemoteCommands = Readonly<Record<string, RemoteCommand>>;

/** The body of a request: settings that were not given are no members. */
export const givenOnly = (settings: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== undefined));
