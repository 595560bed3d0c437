/** Rules for tool names in each format, and the nearest allowed name for any other. Every dialect has a row here. */
import { createHash } from "node:crypto";

export interface NameRule {
  /** Matches an allowed name. */
  readonly form: RegExp;
  /** Matches characters that are not allowed. */
  readonly refused: RegExp;
  readonly maxLength: number;
  /** End of the sentence "sent as x, because …". */
  readonly why: string;
}

/** Tool support of a format. Each form is a single object, which is a cache key for the names of a list of tools. */
export interface ToolForm {
  /** Whether the format knows only functions, so custom tools are sent as functions. */
  readonly wraps: boolean;
  readonly names: NameRule;
}

/**
 * Names at OpenAI: "a-z, A-Z, 0-9, or contain underscores and dashes, with a maximum length of 64" (reference of chat
 * completions). Its Responses API answered 400 to longer names as well (openai/codex, issue 1289); by its later
 * reference it takes 128, but not every server of this format does. 64 is also the limit of Mistral
 * (Kochava-Studios/witsy, pull request 164), DeepSeek (mrexodia/ida-pro-mcp, issue 129), Qwen (QwenLM/Qwen3-VL, issue
 * 2069), and of Bedrock for every model
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolSpecification.html).
 */
const words: NameRule = {
  form: /^[\w-]{1,64}$/,
  refused: /[^\w-]/g,
  maxLength: 64,
  why: "the format takes 1 to 64 letters, digits, _ and -",
};

/**
 * Names at Anthropic: "String should have at most 128 characters" (anthropics/claude-code, issue 96152). Anthropic took
 * 64 until 2025; other servers of its format may still do so, and get the form of most.
 */
const anthropicNames: NameRule = {
  ...words,
  form: /^[\w-]{1,128}$/,
  maxLength: 128,
  why: "the provider takes 1 to 128 letters, digits, _ and -",
};

/**
 * Names at Google: "Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_),
 * dots (.) or dashes (-), with a maximum length of 64" (google-gemini/gemini-cli, issue 2966). Only some models take
 * colons, too.
 */
const geminiNames: NameRule = {
  form: /^[A-Za-z_][\w.-]{0,63}$/,
  refused: /[^\w.-]/g,
  maxLength: 64,
  why: "the format takes 1 to 64 letters, digits, _, . and -, of which the first is a letter or _",
};

/**
 * Names at Cohere: "tool names can only contain certain characters (A-Za-z0-9_) and can't begin with a digit"
 * (langflow-ai/langflow, issue 5465).
 */
const cohereNames: NameRule = {
  form: /^[A-Za-z_]\w{0,63}$/,
  refused: /\W/g,
  maxLength: 64,
  why: "the format takes 1 to 64 letters, digits and _, of which the first is no digit",
};

/** The form of tools in most formats: chat completions of servers other than OpenAI, Converse, and AI SDK packages. */
export const plainForm: ToolForm = { wraps: true, names: words };
/** The form of tools in OpenAI's own formats, which have custom tools in addition to functions. */
export const openAiForm: ToolForm = { wraps: false, names: words };
export const anthropicForm: ToolForm = { wraps: true, names: anthropicNames };
export const geminiForm: ToolForm = { wraps: true, names: geminiNames };
export const cohereForm: ToolForm = { wraps: true, names: cohereNames };

/**
 * The name itself if the format allows it, else a replacement. The replacement is equal in every turn, because the
 * cached beginning contains it.
 */
export function fitName(name: string, rule: NameRule): string {
  if (rule.form.test(name)) return name;
  const clean = name.replaceAll(rule.refused, "_");
  if (!/[A-Za-z0-9]/.test(clean)) return name === "" ? "unnamed" : `tool_${digestOf(name)}`;
  const whole = rule.form.test(clean.slice(0, 1)) ? clean : `_${clean}`;
  return whole.length <= rule.maxLength ? whole : shortened(whole, digestOf(name), rule);
}

/**
 * An allowed name for a call in the history whose tool is not in the request.
 * @param isTaken whether a changed name is already the name of another tool
 */
export function fitHistoryName(name: string, rule: NameRule, isTaken: (name: string) => boolean): string {
  const fitting = fitName(name, rule);
  return fitting === name || !isTaken(fitting) ? fitting : shortened(fitting, digestOf(name), rule);
}

/**
 * Allowed names for all tools, without duplicates. Allowed names stay; if several become equal, all but the first get a
 * number.
 * @param names names of the tools; of two equal ones, the first keeps it
 */
export function fitNames(names: readonly string[], rule: NameRule): readonly string[] {
  const taken = new Set<string>();
  const counts = new Map<string, number>();
  const kept = names.map((name) => {
    const isKept = rule.form.test(name) && !taken.has(name);
    if (isKept) taken.add(name);
    return isKept;
  });
  return names.map((name, index) => (kept[index] === true ? name : free(fitName(name, rule), taken, counts, rule)));
}

/** A free name with a number. @param counts last number tried for each name, because thousands of tools may become one name */
function free(wanted: string, taken: Set<string>, counts: Map<string, number>, rule: NameRule): string {
  let name = wanted;
  let count = counts.get(wanted) ?? 1;
  while (taken.has(name)) name = withEnd(wanted, `_${++count}`, rule);
  counts.set(wanted, count);
  taken.add(name);
  return name;
}

const withEnd = (name: string, end: string, { maxLength }: NameRule): string =>
  `${name.slice(0, maxLength - end.length)}${end}`;

const shortened = (name: string, digest: string, rule: NameRule): string => withEnd(name, `_${digest}`, rule);

/** A hash of a name, long enough to differ for two names of one request. */
const digestOf = (name: string): string => createHash("sha256").update(name).digest("hex").slice(0, 8);

/** Reason in `not_sent` for a changed name. */
export const describeRename = (sent: string, { why }: NameRule): string => `repaired: sent as ${sent}, because ${why}`;
