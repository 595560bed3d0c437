/** Redacts the error at the end of a turn: a provider's message can repeat words of the request or the model. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { redactValue } from "./redact-value.ts";
import type { TextScanner } from "./rules/text-scanner.ts";

type Metadata = Readonly<Record<string, unknown>>;

/** Redacts a fault's message. If a rule blocks it, or it cannot be scanned, Sluice's own message for the status replaces it. */
export async function redactFault(fault: Fault, scanner: TextScanner): Promise<Fault> {
  const message = (await redactOrDrop(fault.message, scanner)) ?? "";
  const metadata = fault.metadata && (await redactMetadata(fault.metadata, scanner));
  if (message === fault.message && metadata === fault.metadata) return fault;
  return fault.with(metadata ? { metadata } : {}, message);
}

/** Redacts a fault's metadata: an error code with a match is dropped; the texts of parsed files are redacted or dropped. */
async function redactMetadata(metadata: Metadata, scanner: TextScanner): Promise<Metadata> {
  const { provider_code: code, file_annotations: texts, ...rest } = metadata;
  const passes = (await redactOrDrop(code, scanner)) === code;
  const annotations = await redactOrDrop(texts, scanner);
  if (passes && annotations === texts) return metadata;
  return {
    ...rest,
    ...(passes && code !== undefined && { provider_code: code }),
    ...(annotations !== undefined && { file_annotations: annotations }),
  };
}

/** The redacted value. @returns undefined when a rule blocks it, or it could not be scanned */
async function redactOrDrop<Value>(value: Value, scanner: TextScanner): Promise<Value | undefined> {
  try {
    return await redactValue(value, scanner);
  } catch {
    return undefined;
  }
}
