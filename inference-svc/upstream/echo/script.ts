/** What the built-in model says to a request: the same to the same. */
import type { FunctionTool, InputItem, TurnRequest } from "../../turn/request.ts";
import { objects, text } from "../json.ts";
import { exampleJson } from "./example.ts";

/** A user text that begins so is refused. */
const refusalPrefix = "refuse:";

export type Line =
  | { readonly kind: "text" | "refusal"; readonly words: readonly string[] }
  | { readonly kind: "reasoning"; readonly words: readonly string[]; readonly summary: readonly string[] }
  | { readonly kind: "call"; readonly name: string; readonly words: readonly string[] };

/** The items of the answer; a word is what counts as a token. */
export function scriptOf(request: TurnRequest): readonly Line[] {
  const effort = request.reasoning?.effort;
  const summary = request.reasoning?.summary === undefined ? "" : "Thinking about an echo.";
  const thought = "The built-in model does not think; it repeats what it was told.";
  const reasoning: readonly Line[] =
    effort === undefined || effort === "none"
      ? []
      : [{ kind: "reasoning", words: wordsOf(thought), summary: wordsOf(summary) }];
  return [...reasoning, answerTo(request)];
}

function answerTo(request: TurnRequest): Line {
  const said = lastUserText(request.input);
  if (said.startsWith(refusalPrefix))
    return { kind: "refusal", words: wordsOf("The built-in model was asked to refuse.") };
  const tool = toolFor(request);
  if (tool) return { kind: "call", name: tool.name, words: piecesOf(exampleJson(tool.parametersJson)) };
  return { kind: "text", words: wordsOf(textFor(request, said)) };
}

function textFor(request: TurnRequest, said: string): string {
  const outputs = request.input
    .filter((item) => item.type === "function_call_output")
    .map((item) => plain(item.output));
  if (request.textFormat?.type === "json_schema") return exampleJson(request.textFormat.schemaJson);
  if (request.textFormat?.type === "json_object") return JSON.stringify({ echo: said });
  const answered = outputs.length > 0 ? ` The tools said: ${outputs.join(" ")}` : "";
  return `This is sluice/echo, the built-in model. You said: ${said}${answered}`;
}

/** A choice that demands a call gets one; left to itself the model calls once and then talks about the result. */
function toolFor(request: TurnRequest): FunctionTool | undefined {
  const choice = request.toolChoice ?? "auto";
  if (choice === "none") return undefined;
  const functions = request.tools.filter((tool) => tool.type === "function");
  if (typeof choice === "object") {
    return choice.type === "tool" ? functions.find((tool) => tool.name === choice.tool.name) : functions[0];
  }
  const answered = request.input.some((item) => item.type === "function_call_output");
  return choice === "auto" && answered ? undefined : functions[0];
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

/** Each with the white space that follows it, so that joined they are the text. */
const wordsOf = (whole: string): readonly string[] => whole.match(/\s*\S+\s*/g) ?? [];
/** JSON has few spaces; in pieces of eight characters it streams like the arguments of other models. */
const piecesOf = (json: string): readonly string[] => json.match(/[^]{1,8}/gu) ?? [];

/** Words of everything that was sent. */
export const inputTokens = (request: TurnRequest): number =>
  wordsOf([request.instructions ?? "", ...request.input.map((item) => plain(item.content ?? item.output))].join(" "))
    .length;
