/** Judges requests by guardrail rules in words, after redaction, so the judge reads no more than the model does. */
import { JudgeUnavailable } from "../../../models/internal-calls/judge-client.ts";
import type { CallContext } from "../../../models/internal-calls/internal-call.ts";
import type { Judge, JudgeProfile } from "../../../models/internal-calls/judge.ts";
import { splitIntoWindows } from "../../../content/text-windows.ts";
import type { PluginTexts } from "../../../turn/feature.ts";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import { type JudgeFinding, buildJudgement, judgeTexts, findingsWithoutVerdict } from "./judgement.ts";
import { type JudgedRule, buildJudgedRules } from "./rules.ts";

/**
 * Maximum number of text windows judged per request. The judge's verdicts are cached, so a long conversation has fewer
 * new windows than its length suggests.
 */
const maxWindows = 64;

/** @param judge undefined when the configuration file names no judge model: no rule then has a verdict */
export const judgedInput = (judge: Judge | undefined, pluginTexts: readonly PluginTexts[]): Layer =>
  judging(judge, pluginTexts, (rules, texts, context) => judgeTexts(judge, rules, texts, context));

/** Layer for a dry run: lists the rules in the receipt without verdicts, since no model is called. */
export const dryJudgedInput = (judge: JudgeProfile | undefined, pluginTexts: readonly PluginTexts[]): Layer =>
  judging(judge, pluginTexts, (rules) => findingsWithoutVerdict(rules, undefined));

type FindFindings = (
  rules: readonly JudgedRule[],
  texts: readonly string[],
  context: CallContext,
) => readonly JudgeFinding[] | Promise<readonly JudgeFinding[]>;

const judging = (judge: JudgeProfile | undefined, pluginTexts: readonly PluginTexts[], find: FindFindings): Layer =>
  requestLayer(async (request, scope) => {
    const rules = buildJudgedRules(scope.caller, "input");
    if (rules.length === 0) return request;
    const texts = [...findJudgedTexts(request, pluginTexts)].flatMap((text) =>
      [...splitIntoWindows(text)].map((window) => window.text),
    );
    const tooMuch =
      texts.length > maxWindows && new JudgeUnavailable(`${texts.length} windows of text, more than ${maxWindows}`);
    const findings = tooMuch ? findingsWithoutVerdict(rules, tooMuch) : await find(rules, texts, { request, scope });
    const { stages, refusal } = buildJudgement(findings, judge, "Request");
    scope.trace.stages.push(...stages);
    if (refusal) throw refusal;
    return request;
  });

/** Finds all texts not written by the model: instructions, sentences in plugin settings, messages, files and tool outputs. */
function* findJudgedTexts(
  { instructions, input, plugins, files }: TurnRequest,
  pluginTexts: readonly PluginTexts[],
): Iterable<string> {
  if (instructions !== undefined) yield instructions;
  for (const textsIn of plugins ? pluginTexts : []) {
    const sentences = textsIn(plugins ?? {}).filter(({ replace }) => replace !== undefined);
    if (sentences.length > 0) yield sentences.map(({ text }) => text).join("\n");
  }
  for (const item of input) {
    if (item["role"] === "assistant" || !hasText(item)) continue;
    const text = [item["content"], item["output"]].map(joinTexts).join("");
    if (text.trim() !== "") yield text;
    for (const part of [item["content"], item["output"]].flat()) {
      const file = files?.get(part);
      for (const fileText of file ? [file.text, ...file.beside] : []) if (fileText.trim() !== "") yield fileText;
    }
  }
}

const hasText = ({ type }: InputItem): boolean => type === "message" || type.endsWith("_output");

function joinTexts(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: { text?: unknown } | null) => (typeof part?.text === "string" ? part.text : "")).join("\n");
}
