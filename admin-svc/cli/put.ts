/** The verb `put` creates or changes a record by its external id. It needs a running installation. */
import { type Command, CommandError } from "@sluice/proto/lib/process/cli.js";
import type { AdminTerminal } from "./terminal.ts";

const remoteOnlyText = "asks a running Sluice: set SLUICE_URL and SLUICE_MANAGEMENT_KEY";

export const putCommand = (
  noun: "key" | "guardrail" | "workspace",
  settings: string,
  details: readonly string[] = [],
): Command<AdminTerminal> => ({
  usage: `EXTERNAL_ID ${settings}`,
  summary: `Makes the ${noun} of an external id, or gives it these settings; an absent one is that of a new ${noun}.`,
  details: ["A repetition changes nothing.", ...details, `It ${remoteOnlyText}.`],
  run: () => Promise.reject(new CommandError(`${noun}s put ${remoteOnlyText}`)),
});
