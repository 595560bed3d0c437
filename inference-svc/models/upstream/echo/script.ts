/** Makes the answer of the built-in model, which is equal for equal requests. */
import type { CustomTool, FunctionTool, InputItem, TurnRequest } from "../../../turn/request.ts";
import { objects, text } from "../json.ts";
import { type OfferedTool, offeredTools, refersTo } from "../translate/offered-tools.ts";
import { asksForSummary } from "../translate/reasoning-effort.ts";
import { exampleJson } from "./example.ts";

/** Prefix of a user text the built-in model refuses to answer. */
const refusalPrefix = "refuse:";

export type EchoLine =
  | { readonly kind: "refusal"; readonly words: readonly string[] }
  | {
      readonly kind: "text";
      readonly words: readonly string[];
      /** The entry of `stop` at which the text ended; undefined when it did not end at one. */
      readonly stopSequence: string | undefined;
    }
  | { readonly kind: "reasoning"; readonly words: readonly string[]; readonly summary: readonly string[] }
  | {
      readonly kind: "call";
      readonly type: "function" | "custom";
      readonly name: string;
      readonly namespace?: string;
      readonly words: readonly string[];
    };

/** A tool the model may call. */
type Callable = OfferedTool & { readonly tool: FunctionTool | CustomTool };

/** The items of the answer, divided into pieces. Each word counts as one token. */
export function buildScript(request: TurnRequest): readonly EchoLine[] {
  const effort = request.reasoning?.effort;
  const summary = asksForSummary(request.reasoning?.summary) ? "Thinking about an echo." : "";
  const thought = "The built-in model does not think; it repeats what it was told.";
  const reasoning: readonly EchoLine[] =
    effort === undefined || effort === "none"
      ? []
      : [{ kind: "reasoning", words: wordsOf(thought), summary: wordsOf(summary) }];
  return [...reasoning, answerTo(request)];
}

function answerTo(request: TurnRequest): EchoLine {
  const prompt = lastUserText(request.input);
  if (prompt.startsWith(refusalPrefix))
    return { kind: "refusal", words: wordsOf("The built-in model was asked to refuse.") };
  const chosen = toolFor(request);
  if (chosen) return callOf(chosen, prompt);
  return stopped(textFor(request, prompt), request.stop ?? []);
}

/** Ends a text at the first of these stop sequences. */
function stopped(whole: string, stop: readonly string[]): EchoLine {
  let end = whole.length;
  let stopSequence: string | undefined;
  for (const each of stop) {
    const at = whole.indexOf(each);
    if (at !== -1 && at < end) [end, stopSequence] = [at, each];
  }
  return { kind: "text", words: wordsOf(whole.slice(0, end)), stopSequence };
}

/** A call of a tool. A custom tool is called with the user's text, because it takes any text. */
function callOf({ tool, namespace }: Callable, prompt: string): EchoLine {
  const words = tool.type === "custom" ? wordsOf(prompt) : piecesOf(exampleJson(tool.parametersJson));
  return { kind: "call", type: tool.type, name: tool.name, words, ...(namespace && { namespace: namespace.name }) };
}

function textFor(request: TurnRequest, prompt: string): string {
  const outputs = request.input.filter((item) => toolOutputs.has(item.type)).map((item) => plain(item.output));
  if (request.textFormat?.type === "json_schema") return exampleJson(request.textFormat.schemaJson);
  if (request.textFormat?.type === "json_object") return JSON.stringify({ echo: prompt });
  const answered = outputs.length > 0 ? ` The tools said: ${outputs.join(" ")}` : "";
  return `This is sluice/echo, the built-in model. You said: ${prompt}${answered}`;
}

const toolOutputs: ReadonlySet<string> = new Set(["function_call_output", "custom_tool_call_output"]);

/**
 * The tool to call. A choice that requires a call gets one. With a free choice the model calls once, and then answers
 * with the tool's output.
 */
function toolFor(request: TurnRequest): Callable | undefined {
  const choice = request.toolChoice ?? "auto";
  if (choice === "none") return undefined;
  const callable = offeredTools(request).filter(
    (entry): entry is Callable => entry.allowed && entry.tool.type !== "hosted",
  );
  if (typeof choice === "object" && choice.type === "tool") {
    return callable.find(({ tool, namespace }) => refersTo(choice.tool, tool, namespace?.name));
  }
  const free = choice === "auto" || (typeof choice === "object" && choice.mode === "auto");
  const answered = request.input.some((item) => toolOutputs.has(item.type));
  return free && answered ? undefined : callable[0];
}

function lastUserText(input: readonly InputItem[]): string {
  return plain(input.findLast((item) => item.type === "message" && item.role === "user")?.content);
}

const plain = (content: unknown): string =>
  typeof content === "string"
    ? content
    : objects(content)
        .map((part) => text(part.text))
        .join("");

/** Splits a text into words. Each keeps the white space after it, so the joined words are the text. */
const wordsOf = (whole: string): readonly string[] => whole.match(/\s*\S+\s*/g) ?? [];
/** Splits JSON, which has few spaces, into pieces of eight characters, so it streams like the arguments of other models. */
const piecesOf = (json: string): readonly string[] => json.match(/[^]{1,8}/gu) ?? [];

/** Number of words in the whole input. */
export const inputTokens = (request: TurnRequest): number =>
  wordsOf([request.instructions ?? "", ...request.input.map((item) => plain(item.content ?? item.output))].join(" "))
    .length;
