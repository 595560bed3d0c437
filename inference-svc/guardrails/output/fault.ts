/** Why a turn fails, as a provider says it, under the rules of an answer: a provider repeats what it was told, or what a model has said. */
import type { Fault } from "@sluice/proto/runtime/fault.js";
import { cleanedLeaves } from "./leaves.ts";
import type { Looker } from "./look.ts";

type Metadata = Readonly<Record<string, unknown>>;

/** Without what is redacted; in our own words where something is blocked, or where nobody could look. */
export async function cleanedFault(fault: Fault, looker: Looker): Promise<Fault> {
  const message = (await cleaned(fault.message, looker)) ?? "";
  const metadata = fault.metadata && (await cleanedMetadata(fault.metadata, looker));
  if (message === fault.message && metadata === fault.metadata) return fault;
  return fault.with(metadata ? { metadata } : {}, message);
}

/** A code is what it is, or left out; of the files that were read for the provider, what remains. */
async function cleanedMetadata(metadata: Metadata, looker: Looker): Promise<Metadata> {
  const { provider_code: code, file_annotations: texts, ...rest } = metadata;
  const passes = (await cleaned(code, looker)) === code;
  const told = await cleaned(texts, looker);
  if (passes && told === texts) return metadata;
  return {
    ...rest,
    ...(passes && code !== undefined && { provider_code: code }),
    ...(told !== undefined && { file_annotations: told }),
  };
}

/** Undefined where it cannot be said. */
async function cleaned<Value>(value: Value, looker: Looker): Promise<Value | undefined> {
  try {
    return await cleanedLeaves(value, looker);
  } catch {
    return undefined;
  }
}
