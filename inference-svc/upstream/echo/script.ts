/** What the built-in model says to a request: the same to the same. */
import type { CustomTool, FunctionTool, InputItem, TurnRequest } from "../../turn/request.ts";
import { objects, text } from "../json.ts";
import { type Offered, offeredTools, refersTo } from "../offered.ts";
import { exampleJson } from "./example.ts";

/** A user text that begins so is refused. */
const refusalPrefix = "refuse:";

export type Line =
  | { readonly kind: "text" | "refusal"; readonly words: readonly string[] }
  | { readonly kind: "reasoning"; readonly words: readonly string[]; readonly summary: readonly string[] }
  | {
      readonly kind: "call";
      readonly type: "function" | "custom";
      readonly name: string;
      readonly namespace?: string;
      readonly words: readonly string[];
    };

/** A tool that the model can call. */
type Callable = Offered & { readonly tool: FunctionTool | CustomTool };

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
  const chosen = toolFor(request);
  if (chosen) return callOf(chosen, said);
  return { kind: "text", words: wordsOf(textFor(request, said)) };
}

/** A custom tool gets what was said: any text will do. */
function callOf({ tool, namespace }: Callable, said: string): Line {
  const words = tool.type === "custom" ? wordsOf(said) : piecesOf(exampleJson(tool.parametersJson));
  return { kind: "call", type: tool.type, name: tool.name, words, ...(namespace && { namespace: namespace.name }) };
}

function textFor(request: TurnRequest, said: string): string {
  const outputs = request.input.filter((item) => toolOutputs.has(item.type)).map((item) => plain(item.output));
  if (request.textFormat?.type === "json_schema") return exampleJson(request.textFormat.schemaJson);
  if (request.textFormat?.type === "json_object") return JSON.stringify({ echo: said });
  const answered = outputs.length > 0 ? ` The tools said: ${outputs.join(" ")}` : "";
  return `This is sluice/echo, the built-in model. You said: ${said}${answered}`;
}

const toolOutputs: ReadonlySet<string> = new Set(["function_call_output", "custom_tool_call_output"]);

/** A choice that demands a call gets one; left to itself the model calls once and then talks about the result. */
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

/** Each with the white space that follows it, so that joined they are the text. */
const wordsOf = (whole: string): readonly string[] => whole.match(/\s*\S+\s*/g) ?? [];
/** JSON has few spaces; in pieces of eight characters it streams like the arguments of other models. */
const piecesOf = (json: string): readonly string[] => json.match(/[^]{1,8}/gu) ?? [];

/** Words of everything that was sent. */
export const inputTokens = (request: TurnRequest): number =>
  wordsOf([request.instructions ?? "", ...request.input.map((item) => plain(item.content ?? item.output))].join(" "))
    .length;
