/** Judges what is asked by the rules in words, after everything that is redacted is gone from it: no judge reads more than the model does. */
import { type Judge, NoVerdict } from "../../internal/judge.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { findingsOf, judgementOf, unfound } from "./judgement.ts";
import { judgedRules } from "./rules.ts";
import { windowsOf } from "./windows.ts";

/** More than a long conversation has that was not judged in the request before it. */
const mostWindows = 64;

/** @param judge undefined: the house has none, so that no rule can be judged by */
export const judgedInput = (judge: Judge | undefined): Layer =>
  onRequest(async (request, scope) => {
    const rules = judgedRules(scope.caller, "input");
    if (rules.length === 0) return request;
    const texts = [...textsOf(request)].flatMap((text) => [...windowsOf(text)]);
    const tooMuch = texts.length > mostWindows && new NoVerdict(`${texts.length} stretches of text`);
    const findings =
      scope.dryRun === true || tooMuch
        ? unfound(rules, tooMuch || undefined)
        : await findingsOf(judge, rules, texts, { request, scope });
    const { stages, refusal } = judgementOf(findings, judge, "Request");
    scope.trace.stages.push(...stages);
    if (refusal) throw refusal;
    return request;
  });

/** What others than the model have said: instructions, messages, and what tools gave back. */
function* textsOf({ instructions, input }: TurnRequest): Iterable<string> {
  if (instructions !== undefined) yield instructions;
  for (const item of input) {
    if (item["role"] === "assistant" || !isSaid(item)) continue;
    const text = [item["content"], item["output"]].map(textOf).join("");
    if (text.trim() !== "") yield text;
  }
}

const isSaid = ({ type }: InputItem): boolean => type === "message" || type.endsWith("_output");

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("\n");
}
