/** Alignment rules about tool calls and their arguments. */
import type { Message, EvaluatedCall } from "../message.ts";
import { type Template, countPattern, parseCountPhrase, lastingRule, neverPhrase } from "./rule.ts";

const callVerb = "(?:call|invoke|use|run)";
/** Pattern for a verb, a tool's name, and the words around the name that mark it as a tool. */
const tool = "(call |invoke |use |run )(?:the )?(tool |function )?[\"'`]?([\\w.-]+?)[\"'`]?(\\(\\))?( tool| function)?";

/**
 * The tool a rule names: a name in the request's tools, a name marked as a tool, or an identifier such as send_mail.
 * "Never call strangers" names no tool, nor does "never use snake_case".
 * @returns undefined when the name may mean something else
 */
function toolIn([verb, before, name = "", brackets, after]: Parts, tools: ReadonlySet<string>): string | undefined {
  const isCalledOne = [before, brackets, after].some((part) => part !== undefined);
  const isOfRequest = tools.has(name.split(".").at(-1) ?? "");
  const isIdentifier = verb?.toLowerCase() !== "use " && /[a-z]_[a-z]/i.test(name);
  return isCalledOne || isOfRequest || isIdentifier ? name : undefined;
}

type Parts = readonly (string | undefined)[];

const callsOf = ({ tool_calls: calls = [] }: Message, name: string): readonly EvaluatedCall[] =>
  calls.filter((call) => call.name === name || `${call.namespace}.${call.name}` === name);

type Compare = (value: number, limit: number) => boolean;

const above: Compare = (value, limit) => value > limit;
const below: Compare = (value, limit) => value < limit;
const comparisons: readonly (readonly [RegExp, Compare])[] = [
  [/^(?:above|over|greater than|more than|larger than|higher than|exceeding|>)$/i, above],
  [/^(?:below|under|less than|smaller than|lower than|<)$/i, below],
  [/^(?:equal to|of exactly|of|=|==)$/i, (value, limit) => value === limit],
  [/^(?:of at least|at least|>=)$/i, (value, limit) => value >= limit],
  [/^(?:of at most|at most|up to|<=)$/i, (value, limit) => value <= limit],
];
const comparing =
  "(above|over|greater than|more than|larger than|higher than|exceeding|below|under|less than|smaller than|lower than|" +
  "equal to|of exactly|of at least|at least|of at most|at most|up to|of|>=|<=|==|=|>|<)";

/** Every value with this name in the arguments, at any depth. @returns undefined for invalid JSON */
function valuesOf(json: string, name: string): readonly unknown[] | undefined {
  const values: unknown[] = [];
  try {
    JSON.parse(json, (key, value: unknown) => {
      if (key === name) values.push(value);
      return value;
    });
    return values;
  } catch {
    return undefined;
  }
}

/** A number, or the number in a numeric string. */
function numberOf(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  return typeof value === "string" && /^\s*-?\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Whether a call passes the argument so the condition holds. @returns undefined when the argument is not a number */
function isCalledWith(
  calls: readonly EvaluatedCall[],
  argument: string,
  breaks: (value: number) => boolean,
): boolean | undefined {
  let isOpen = false;
  for (const call of calls) {
    for (const value of valuesOf(call.arguments, argument) ?? [undefined]) {
      const figure = numberOf(value);
      if (figure !== undefined && breaks(figure)) return true;
      isOpen ||= figure === undefined;
    }
  }
  return isOpen ? undefined : false;
}

export const toolTemplates: readonly Template[] = [
  {
    form: new RegExp(`${neverPhrase} ${callVerb} (?:any )?(?:tools|functions|a tool|a function)`),
    read: () => lastingRule(({ tool_calls: calls = [] }) => calls.length > 0),
  },
  {
    form: new RegExp(
      `(?:${callVerb} )?(?:at most|no more than|up to) ${countPattern} (?:tools?|functions?|tool calls?|function calls?)`,
    ),
    read: ([most]) => lastingRule(({ tool_calls: calls = [] }) => calls.length > parseCountPhrase(most)),
  },
  {
    form: new RegExp(`${neverPhrase} ${tool}`),
    read: (parts, { tools }) => {
      const name = toolIn(parts, tools);
      return name === undefined ? undefined : lastingRule((message) => callsOf(message, name).length > 0);
    },
  },
  {
    form: new RegExp(
      `${neverPhrase} ${tool} (?:with|when|if) (?:an? |the )?["'\`]?([\\w-]+)["'\`]? (?:is )?${comparing} (-?\\d+(?:\\.\\d+)?)`,
    ),
    read: (parts, { tools }) => {
      const [, , , , , argument = "", word = "", limit] = parts;
      const name = toolIn(parts, tools);
      const compare = comparisons.find(([form]) => form.test(word))?.[1];
      if (name === undefined || compare === undefined) return undefined;
      const breaks = (value: number) => compare(value, Number(limit));
      const isBroken = (message: Message) => isCalledWith(callsOf(message, name), argument, breaks);
      return { isTotal: true, isBroken, isBrokenForGood: (begun) => isBroken(begun) === true };
    },
  },
];
