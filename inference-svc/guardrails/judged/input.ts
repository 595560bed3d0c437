/** Judges what is asked by the rules in words, after everything that is redacted is gone from it: no judge reads more than the model does. */
import { NoVerdict } from "../../internal/inquiry.ts";
import type { Judge } from "../../internal/judge.ts";
import { windowsOf } from "../../internal/windows.ts";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type Layer, onRequest } from "../../turn/turn.ts";
import { findingsOf, judgementOf, unfound } from "./judgement.ts";
import { judgedRules } from "./rules.ts";

/** More than a long conversation has that was not judged in the request before it. */
const mostWindows = 64;

/** @param judge undefined: the house has none, so that no rule can be judged by */
export const judgedInput = (judge: Judge | undefined): Layer =>
  onRequest(async (request, scope) => {
    const rules = judgedRules(scope.caller, "input");
    if (rules.length === 0) return request;
    const texts = [...textsOf(request)].flatMap((text) => [...windowsOf(text)].map((window) => window.text));
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

/** What others than the model have said: instructions, rules, messages, files, and what tools gave back. */
function* textsOf({ instructions, input, plugins, files }: TurnRequest): Iterable<string> {
  if (instructions !== undefined) yield instructions;
  if (plugins?.alignment) yield plugins.alignment.rules.join("\n");
  for (const item of input) {
    if (item["role"] === "assistant" || !isSaid(item)) continue;
    const text = [item["content"], item["output"]].map(textOf).join("");
    if (text.trim() !== "") yield text;
    for (const part of [item["content"], item["output"]].flat()) {
      const said = files?.get(part)?.text ?? "";
      if (said.trim() !== "") yield said;
    }
  }
}

const isSaid = ({ type }: InputItem): boolean => type === "message" || type.endsWith("_output");

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("\n");
}
