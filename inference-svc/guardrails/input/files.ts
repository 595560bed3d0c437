/** Reads the files of a request that a guardrail looks at, so that those which look see what they say. */
import { filesIn, kindOf } from "../../files/part.ts";
import { FileProblem, NotRead, fileFault } from "../../files/problem.ts";
import type { FileReader } from "../../files/texts.ts";
import { type Applied, appliedTo } from "../../turn/applied.ts";
import { type FilePart, type FileReading, FileText } from "../../turn/file-text.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { covers, failsOpen, looksAt } from "../policy.ts";
import { failureStage } from "../stages.ts";

export const filesRead = (reader: FileReader): Layer =>
  onRequest((request, scope) => {
    const files = [...filesIn(request.input)].filter((file) => !request.files?.has(file.part));
    if (files.length === 0) return request;
    const applied = appliedTo(scope.caller).filter(reads);
    return applied.length === 0 ? request : withTexts(request, files, { reader, scope, applied });
  });

/** Whether it has rules for texts of a request. */
const reads = (applied: Applied): boolean => {
  const { detectors, judgeRules } = applied.guardrail;
  return looksAt(applied, "input") || (detectors.length + judgeRules.length > 0 && covers(applied, "input"));
};

interface Looking {
  readonly reader: FileReader;
  readonly scope: Scope;
  readonly applied: readonly Applied[];
}

async function withTexts(request: TurnRequest, files: readonly FilePart[], looking: Looking): Promise<TurnRequest> {
  const texts = new Map(request.files);
  for (const file of files) {
    // One after the other: a turn takes one reader at a time.
    const reading = kindOf(file) && (await readingOf(file, looking));
    if (reading) texts.set(file.part, new FileText(file, reading));
  }
  return texts.size === 0 ? request : { ...request, files: texts };
}

/** Undefined for what passes unread. @throws Fault INVALID_REQUEST, UNAVAILABLE where a guardrail that fails closed could not look */
async function readingOf(file: FilePart, { reader, scope, applied }: Looking): Promise<FileReading | undefined> {
  try {
    const reading = await reader.read(file, scope);
    if (reading.truncated) throw new FileProblem("it has more text than can be looked at");
    return reading;
  } catch (error) {
    if (!(error instanceof FileProblem || error instanceof NotRead)) throw error;
    scope.trace.stages.push(...applied.map(failureStage));
    if (!applied.every(failsOpen)) throw fileFault(error, file.path);
    return undefined;
  }
}
