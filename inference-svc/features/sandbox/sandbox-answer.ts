/** Reads the sandbox adapter's answer to a run. Everything in it may be hostile: programs inside the sandbox control their output. */
import { stripVTControlCharacters } from "node:util";
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import type { PostedAnswer } from "../../services/detection/wire.ts";
import { removeInvalidCharacters } from "../../content/page-charset.ts";

export type RunOutcome = { readonly type: "exit"; readonly exit_code: number } | { readonly type: "timeout" };

/** The printed text of a command, and how the command ended. */
export interface CommandOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly outcome: RunOutcome;
}

/** The adapter refused the run for a reason that is not its own failure. */
export class SandboxRefused extends Error {
  /** Explanation for the model; the adapter's own message is only logged. */
  readonly explanation: string;

  constructor(status: number, explanation: string) {
    super(`status ${status}`);
    this.explanation = explanation;
  }
}

/** Statuses with which the adapter refuses a run, each with an explanation for the model. */
const refusals: ReadonlyMap<number, string> = new Map([
  [413, "the sandbox takes no programs of this length"],
  [422, "the sandbox does not offer this network policy, memory limit or language"],
  [429, "the sandbox is busy; try again later"],
]);

/** Reads the outputs of a run. @param count number of commands @throws SandboxRefused; Error for every other answer without a result */
export function readRun({ status, body }: PostedAnswer, count: number): readonly CommandOutput[] {
  const refusal = refusals.get(status);
  if (refusal !== undefined) throw new SandboxRefused(status, refusal);
  if (status !== 200) throw new Error(`status ${status}`);
  const { output } = parsed(body);
  if (!Array.isArray(output) || output.length === 0) throw new Error("the answer has no output");
  return output.slice(0, count).map(readOutput);
}

/** Parses JSON. The parser's own error would quote the answer, which must not get into a log. */
function parsed(body: string): JsonObject {
  let answer: unknown;
  try {
    answer = JSON.parse(body);
  } catch {
    throw new Error("the answer is not JSON");
  }
  if (!isObject(answer)) throw new Error("the answer is not an object");
  return answer;
}

function readOutput(entry: unknown): CommandOutput {
  const { stdout, stderr, outcome, truncated }: JsonObject = isObject(entry) ? entry : {};
  if (typeof stdout !== "string" || typeof stderr !== "string") throw new Error("an output has no text");
  const cut = truncated === true ? "\n[more was printed, and the sandbox did not keep it]" : "";
  return { stdout: printable(stdout) + cut, stderr: printable(stderr), outcome: readOutcome(outcome) };
}

function readOutcome(outcome: unknown): RunOutcome {
  const { type, exit_code: code }: JsonObject = isObject(outcome) ? outcome : {};
  if (type === "timeout") return { type };
  if (type !== "exit" || typeof code !== "number" || !Number.isInteger(code))
    throw new Error("an output has no outcome");
  return { type, exit_code: code };
}

/** The text without escape sequences, which could control a terminal. */
const printable = (text: string): string =>
  stripVTControlCharacters(removeInvalidCharacters(text))
    .replaceAll(/\r\n?/g, "\n")
    .replaceAll(/[^\P{Cc}\n\t]/gu, "");
