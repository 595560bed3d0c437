/** Reads the files of a request as text, so guardrails can scan them. */
import { documentLimits } from "../../../content/files/documents/limits.ts";
import { findFiles } from "../../../content/files/part.ts";
import { FileProblem, FileReadUnavailable, fileFault } from "../../../content/files/problem.ts";
import type { FileReader } from "../../../content/files/texts.ts";
import { type AppliedGuardrail, guardrailsFor, hasInputRules } from "../../../turn/applied-guardrails.ts";
import { type FilePart, type FileReading, FileText } from "../../../turn/file-text.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { failsOpen } from "../filter-rules.ts";
import { buildFailureStage } from "../receipt-stages.ts";

export const readGuardedFiles = (reader: FileReader): Layer =>
  requestLayer((request, scope) => {
    const files = findFiles(request.input).filter((file) => !request.files?.has(file.part));
    if (files.length === 0) return request;
    const applied = guardrailsFor(scope.caller).filter(hasInputRules);
    return applied.length === 0 ? request : addTexts(request, files, { reader, scope, applied });
  });

interface ReadContext {
  readonly reader: FileReader;
  readonly scope: Scope;
  readonly applied: readonly AppliedGuardrail[];
}

async function addTexts(request: TurnRequest, files: readonly FilePart[], looking: ReadContext): Promise<TurnRequest> {
  const texts = new Map(request.files);
  for (const file of files) {
    // Files are read sequentially: a turn uses at most one PDF reader at a time.
    const reading = await readFile(file, looking);
    if (reading) texts.set(file.part, new FileText(file, reading));
  }
  return texts.size === 0 ? request : { ...request, files: texts };
}

/** Whether some of the file's text was not read. */
const isPartlyRead = ({ kind, truncated, beside = [] }: FileReading): boolean =>
  truncated || (kind !== "text" && beside.some(({ length }) => length > documentLimits.characters));

/**
 * Reads one file. @returns undefined for a file passed on unread
 * @throws Fault INVALID_REQUEST or UNAVAILABLE when a guardrail fails closed and could not read the file
 */
async function readFile(file: FilePart, { reader, scope, applied }: ReadContext): Promise<FileReading | undefined> {
  try {
    const reading = await reader.readAsSent(file, scope);
    if (reading && isPartlyRead(reading)) throw new FileProblem("it has more text than can be scanned");
    return reading;
  } catch (error) {
    if (!(error instanceof FileProblem || error instanceof FileReadUnavailable)) throw error;
    scope.trace.stages.push(...applied.map(buildFailureStage));
    if (!applied.every(failsOpen)) throw fileFault(error, file.path);
    return undefined;
  }
}
