/** Redacts the error at the end of a turn: a provider's message can repeat the request or the model's words. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { redactValue } from "./redact-value.ts";
import type { TextScanner } from "./rules/text-scanner.ts";

type Metadata = Readonly<Record<string, unknown>>;

/** Redacts the message. A message that is blocked, or cannot be scanned, is replaced by Sluice's own for that status. */
export async function redactFault(fault: Fault, scanner: TextScanner): Promise<Fault> {
  const message = (await redactOrDrop(fault.message, scanner)) ?? "";
  const metadata = fault.metadata && (await redactMetadata(fault.metadata, scanner));
  if (message === fault.message && metadata === fault.metadata) return fault;
  return fault.with(metadata ? { metadata } : {}, message);
}

/** An error code with a match is dropped; the texts of parsed files are redacted or dropped. */
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

/** The redacted value; undefined when it is blocked or could not be scanned. */
async function redactOrDrop<Value>(value: Value, scanner: TextScanner): Promise<Value | undefined> {
  try {
    return await redactValue(value, scanner);
  } catch {
    return undefined;
  }
}
