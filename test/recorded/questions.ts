/** Requests to each API endpoint that lead to a recorded answer: the recorded prompt, and declarations of the called functions. */
import type { Exchange } from "./corpus.ts";
import type { AnswerFacts } from "./readers/answer.ts";
import { type JsonRecord, jsonRecord, jsonRecords, textOrEmpty } from "./readers/json.ts";

export type Door = "responses" | "chat" | "messages";
export const doors: readonly Door[] = ["responses", "chat", "messages"];
export const pathOf = { responses: "/responses", chat: "/chat/completions", messages: "/messages" } as const;
export const isDoor = (format: string): format is Door => format in pathOf;

interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonRecord;
}

interface Question {
  readonly prompt: string;
  readonly tools: readonly Tool[];
  readonly thinks: boolean;
}

const anything: JsonRecord = { type: "object", properties: {} };

export function questionOf(exchange: Exchange, want: AnswerFacts): Question {
  const body = exchange.request?.body ?? {};
  const tools = new Map<string, Tool>();
  for (const tool of toolsOf(body)) if (/^[\w-]{1,64}$/.test(tool.name)) tools.set(tool.name, tool);
  // Functions are declared for the recorded calls, too: the recording may lack its request, and an answer must not call an undeclared function.
  for (const { name } of want.calls) {
    if (!tools.has(name) && /^[\w-]{1,64}$/.test(name)) tools.set(name, { name, description: "", schema: anything });
  }
  const thinks = want.thoughts !== "" || (want.tokens?.thoughts ?? 0) > 0;
  return { prompt: promptOf(body, want), tools: [...tools.values()], thinks };
}

/**
 * The recorded user's text, filled up to the billed number of tokens. Other input of the provider (documents, its own searches, pages) counts as
 * prompt, too, and Sluice would estimate a count that the request does not explain.
 */
function promptOf(body: JsonRecord, want: AnswerFacts): string {
  const turns = [body["messages"], body["contents"], body["input"]].flatMap(jsonRecords);
  const said = turns.filter(({ role }) => role === "user").flatMap((turn) => textsOf(turn["content"] ?? turn["parts"]));
  const prompt = [textOrEmpty(body["input"]), ...said].join("\n").trim().slice(0, 4000) || "Hello";
  const missing = (want.tokens?.prompt ?? 0) - prompt.length / 4;
  return missing > 1000 ? `${prompt}\n${"word ".repeat(missing)}` : prompt;
}

const textsOf = (content: unknown): string[] =>
  typeof content === "string" ? [content] : jsonRecords(content).map(({ text }) => textOrEmpty(text));

/** Functions in a request of any format. */
function toolsOf(body: JsonRecord): Tool[] {
  const listed = [...jsonRecords(body["tools"]), ...jsonRecords(jsonRecord(body["toolConfig"])["tools"])];
  return listed.flatMap((tool): Tool[] => {
    const declared = jsonRecords(tool["functionDeclarations"] ?? tool["function_declarations"]);
    if (declared.length > 0)
      return declared.map((one) => toolOf(one, one["parametersJsonSchema"] ?? lowerTypes(one["parameters"])));
    const named = jsonRecord(tool["function"] ?? tool["toolSpec"] ?? tool);
    const schema = named["parameters"] ?? named["input_schema"] ?? jsonRecord(named["inputSchema"])["json"];
    return schema === undefined ? [] : [toolOf(named, schema)];
  });
}

function toolOf({ name, description }: JsonRecord, schema: unknown): Tool {
  return {
    name: textOrEmpty(name),
    description: textOrEmpty(description),
    schema: { ...anything, ...jsonRecord(schema) },
  };
}

/** Changes the names of types to lower case, since Google writes them in capitals. */
function lowerTypes(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(lowerTypes);
  if (typeof schema !== "object" || schema === null) return schema;
  const entries = Object.entries(schema);
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === "type" ? textOrEmpty(value).toLowerCase() : lowerTypes(value)]),
  );
}

/** @returns the request body in the endpoint's format */
export function buildQuestionBody(
  door: Door,
  model: string,
  { prompt, tools, thinks }: Question,
  stream: boolean,
): JsonRecord {
  const functions = tools.map(({ name, description, schema }) => ({ name, description, parameters: schema }));
  const has = tools.length > 0;
  if (door === "responses") {
    return {
      model,
      stream,
      input: prompt,
      ...(has && { tools: functions.map((fn) => ({ type: "function", ...fn, strict: false })) }),
      ...(thinks && { reasoning: { effort: "medium", summary: "auto" } }),
    };
  }
  const messages = [{ role: "user", content: prompt }];
  if (door === "chat") {
    return {
      model,
      stream,
      messages,
      ...(stream && { stream_options: { include_usage: true } }),
      ...(has && { tools: functions.map((fn) => ({ type: "function", function: fn })) }),
      ...(thinks && { reasoning_effort: "medium" }),
    };
  }
  const offered = tools.map(({ name, description, schema }) => ({ name, description, input_schema: schema }));
  return {
    model,
    stream,
    max_tokens: 4096,
    messages,
    ...(has && { tools: offered }),
    ...(thinks && { thinking: { type: "enabled", budget_tokens: 2048 } }),
  };
}
