/** Formats the output of a run's programs, for the model and for the client. */
import { type JsonObject, isObject } from "@sluice/proto/lib/validation/fields.js";
import { truncateMiddle } from "../../turn/truncate.ts";
import { deriveMark, wrapAsData } from "../../content/wrapped-data.ts";
import type { CommandOutput, RunOutcome } from "./sandbox-answer.ts";

/** Default maximum UTF-16 units of each stream of a command. */
const standardLength = 20_000;
/** Maximum value of `max_output_length`, in UTF-16 units. */
const maxLength = 100_000;
/** Maximum UTF-16 units of all streams of a run: the model pays for all of them. */
const maxTotal = 200_000;

/** Shortens outputs to their limits. @param wanted value of `max_output_length` in the call */
export function shortenOutputs(outputs: readonly CommandOutput[], wanted: unknown): readonly CommandOutput[] {
  const limit = Math.min(typeof wanted === "number" ? wanted : standardLength, maxLength);
  let room = maxTotal;
  const cut = (text: string): string => {
    const kept = truncateMiddle(text, Math.min(limit, room));
    room = Math.max(0, room - kept.length);
    return kept;
  };
  return outputs.map(({ stdout, stderr, outcome }) => ({ stdout: cut(stdout), stderr: cut(stderr), outcome }));
}

const describeOutcome = (outcome: RunOutcome): string =>
  outcome.type === "exit" ? `exit code ${outcome.exit_code}` : "ended because its time was over";

/** The outputs as text for the model, with the printed text marked as data. */
export function describeOutputs(outputs: readonly CommandOutput[]): string {
  const texts = outputs.map(({ stdout, stderr, outcome }) =>
    [
      `${describeOutcome(outcome)}${stdout === "" && stderr === "" ? ", nothing printed" : ""}`,
      ...(stdout === "" ? [] : ["stdout:", stdout]),
      ...(stderr === "" ? [] : ["stderr:", stderr]),
    ].join("\n"),
  );
  return wrapAsData("The run is over. This is how it ended, and what it printed.", texts, deriveMark(...texts));
}

/** The outputs in an item of an earlier response. */
export const parseEarlierOutputs = (outputs: unknown): readonly CommandOutput[] =>
  (Array.isArray(outputs) ? outputs : []).filter(isObject).map(({ stdout, stderr, outcome }) => ({
    stdout: textOf(stdout),
    stderr: textOf(stderr),
    outcome: heldOutcome(isObject(outcome) ? outcome["exit_code"] : undefined),
  }));

/** The output in an item of an earlier response with a single command. */
export const parseEarlierOutput = ({ stdout, stderr, exitCode }: JsonObject): CommandOutput => ({
  stdout: textOf(stdout),
  stderr: textOf(stderr),
  outcome: heldOutcome(exitCode),
});

const heldOutcome = (code: unknown): RunOutcome =>
  typeof code === "number" ? { type: "exit", exit_code: code } : { type: "timeout" };

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
