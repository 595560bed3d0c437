/** The messages in captured content, of every format of a request and an answer. */

export type MessagePart =
  | { readonly kind: "text" | "reasoning"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly id: string; readonly input: string }
  | { readonly kind: "result"; readonly id: string; readonly text: string }
  | { readonly kind: "picture"; readonly url: string }
  | { readonly kind: "other"; readonly name: string; readonly text: string };

export interface Message {
  readonly role: string;
  readonly parts: readonly MessagePart[];
}

export interface Conversation {
  readonly model: string;
  readonly messages: readonly Message[];
  readonly tools: readonly OfferedTool[];
}

/** A tool offered to the model. */
export interface OfferedTool {
  readonly name: string;
  readonly description: string;
  /** Definition of the tool in the Responses format. */
  readonly definition: Readonly<Record<string, unknown>>;
}

type Json = Readonly<Record<string, unknown>>;

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);
const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isJson) : []);
const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value, null, 2);

/** Undefined for a text that is no JSON object, such as one that was cut off. */
function parseObject(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isJson(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The conversation in the body of a request; undefined if the body cannot be read. */
export function readConversation(body: string): Conversation | undefined {
  const request = parseObject(body);
  if (!request) return undefined;
  const { model, messages, input, instructions, system, tools } = request;
  const spoken = messages === undefined ? inputMessages(input) : listOf(messages).flatMap(chatMessages);
  const first = [instructions, system].flatMap((each) => (each === undefined || each === null ? [] : [each]));
  return {
    model: textOf(model),
    messages: [...first.map((each) => ({ role: "system", parts: partsOf(each) })), ...spoken],
    tools: listOf(tools).map(toolOf),
  };
}

function toolOf(tool: Json): OfferedTool {
  const { function: made, input_schema: schema, ...rest } = tool;
  const described = isJson(made) ? made : rest;
  return {
    name: textOf(described["name"] ?? tool["type"]),
    description: textOf(described["description"]),
    definition: { ...described, type: tool["type"] ?? "function", ...(schema !== undefined && { parameters: schema }) },
  };
}

/** Messages of an input of the Responses format, or of texts to embed. */
function inputMessages(input: unknown): Message[] {
  if (!Array.isArray(input)) return [{ role: "user", parts: partsOf(input) }];
  return input.flatMap((item) => (isJson(item) ? itemMessages(item) : [{ role: "user", parts: partsOf(item) }]));
}

function itemMessages(item: Json): Message[] {
  const { type, role, content, summary, output, name, call_id: id } = item;
  if (type === "function_call") {
    return [{ role: "assistant", parts: [callOf(name, id, item["arguments"])] }];
  }
  if (type === "function_call_output") return [{ role: "tool", parts: [resultOf(id, output)] }];
  if (type === "reasoning") {
    const texts = [...listOf(summary), ...listOf(content)].map(({ text }) => textOf(text));
    return texts.length === 0 ? [] : [{ role: "assistant", parts: [{ kind: "reasoning", text: texts.join("\n\n") }] }];
  }
  if (content !== undefined) return [{ role: textOf(role ?? "assistant"), parts: partsOf(content) }];
  return [{ role: "assistant", parts: [{ kind: "other", name: textOf(type), text: textOf(item) }] }];
}

/** A message of the chat or Messages format. */
function chatMessages(message: Json): Message[] {
  const { role, content, tool_calls: calls, tool_call_id: id, reasoning, reasoning_content: thought } = message;
  const called = listOf(calls).map((call) => {
    const made = isJson(call["function"]) ? call["function"] : call;
    return callOf(made["name"], call["id"], made["arguments"]);
  });
  if (role === "tool") return [{ role: "tool", parts: [resultOf(id, content)] }];
  const thoughts = textOf(reasoning ?? thought);
  const parts = [
    ...(thoughts === "" ? [] : [{ kind: "reasoning" as const, text: thoughts }]),
    ...partsOf(content),
    ...called,
  ];
  return parts.length === 0 ? [] : [{ role: textOf(role), parts }];
}

const callOf = (name: unknown, id: unknown, input: unknown): MessagePart => {
  const text = textOf(input);
  const parsed = parseObject(text);
  return { kind: "call", name: textOf(name), id: textOf(id), input: parsed ? JSON.stringify(parsed, null, 2) : text };
};

const resultOf = (id: unknown, content: unknown): MessagePart => ({
  kind: "result",
  id: textOf(id),
  text: Array.isArray(content)
    ? content.map((part) => (isJson(part) ? textOf(part["text"] ?? part) : textOf(part))).join("\n")
    : textOf(content),
});

function partsOf(content: unknown): MessagePart[] {
  if (content === null || content === undefined) return [];
  if (!Array.isArray(content)) return [{ kind: "text", text: textOf(content) }];
  return content.map((part) => (isJson(part) ? partOf(part) : { kind: "text", text: textOf(part) }));
}

function partOf(part: Json): MessagePart {
  const { type, text, thinking, refusal } = part;
  if (type === "tool_use") return callOf(part["name"], part["id"], part["input"]);
  if (type === "tool_result") return resultOf(part["tool_use_id"], part["content"]);
  if (type === "thinking" || type === "reasoning") return { kind: "reasoning", text: textOf(thinking ?? text) };
  const picture = pictureOf(part);
  if (picture !== undefined) return { kind: "picture", url: picture };
  const words = text ?? refusal;
  if (typeof words === "string") return { kind: "text", text: words };
  return { kind: "other", name: textOf(type), text: textOf(part) };
}

function pictureOf({ type, image_url: image, source }: Json): string | undefined {
  if (type === "input_image" || type === "image_url") return textOf(isJson(image) ? image["url"] : image);
  if (type !== "image" || !isJson(source)) return undefined;
  return source["type"] === "base64"
    ? `data:${textOf(source["media_type"])};base64,${textOf(source["data"])}`
    : textOf(source["url"]);
}

/** The messages of an answer, which is an object or the text of a stream; undefined if the answer cannot be read. */
export function readAnswer(text: string): readonly Message[] | undefined {
  const whole = parseObject(text);
  if (whole) return answerMessages(whole);
  const events = text.split(/\r?\n/).flatMap((line) => {
    const event = line.startsWith("data:") ? parseObject(line.slice(5)) : undefined;
    return event ? [event] : [];
  });
  return events.length === 0 ? undefined : streamMessages(events);
}

function answerMessages({ output, choices, content, role, data, error }: Json): Message[] {
  if (isJson(error)) return [{ role: "error", parts: [{ kind: "text", text: textOf(error["message"]) }] }];
  if (output !== undefined) return listOf(output).flatMap(itemMessages);
  if (choices !== undefined) {
    return listOf(choices).flatMap(({ message }) =>
      isJson(message) ? chatMessages({ role: "assistant", ...message }) : [],
    );
  }
  if (content !== undefined) return [{ role: textOf(role ?? "assistant"), parts: partsOf(content) }];
  return listOf(data).length === 0
    ? []
    : [{ role: "assistant", parts: [{ kind: "text", text: vectorsOf(listOf(data)) }] }];
}

const vectorsOf = (data: readonly Json[]): string => `${data.length} ${data.length === 1 ? "embedding" : "embeddings"}`;

const finalEvents = new Set(["response.completed", "response.incomplete", "response.failed"]);

function streamMessages(events: readonly Json[]): Message[] {
  const final = events.find(({ type, response }) => finalEvents.has(textOf(type)) && isJson(response));
  if (isJson(final?.["response"])) return answerMessages({ ...final["response"], error: undefined });
  const parts = new Map<string, StreamedPart>();
  for (const event of events) addEvent(parts, event);
  return parts.size === 0 ? [] : [{ role: "assistant", parts: [...parts.values()].map(toPart) }];
}

interface StreamedPart {
  readonly kind: "text" | "reasoning" | "call";
  name: string;
  id: string;
  text: string;
}

const toPart = ({ kind, name, id, text }: StreamedPart): MessagePart =>
  kind === "call" ? callOf(name, id, text) : { kind, text };

function addTo(
  parts: Map<string, StreamedPart>,
  place: string,
  kind: StreamedPart["kind"],
  text: unknown,
  call: Json = {},
): void {
  const part = parts.get(place) ?? { kind, name: "", id: "", text: "" };
  if (typeof text === "string") part.text += text;
  part.name ||= textOf(call["name"]);
  part.id ||= textOf(call["id"]);
  parts.set(place, part);
}

/** Adds an event to the collected parts, for streams without a final event that contains the whole answer. */
function addEvent(parts: Map<string, StreamedPart>, event: Json): void {
  const { type, delta, index, content_block: block, choices } = event;
  if (type === "response.output_text.delta") addTo(parts, `text ${textOf(event["output_index"])}`, "text", delta);
  if (type === "content_block_start" && isJson(block) && block["type"] === "tool_use") {
    addTo(parts, `block ${textOf(index)}`, "call", "", block);
  }
  if (type === "content_block_delta" && isJson(delta)) {
    const kind =
      delta["partial_json"] === undefined ? (delta["thinking"] === undefined ? "text" : "reasoning") : "call";
    addTo(parts, `block ${textOf(index)}`, kind, delta["partial_json"] ?? delta["thinking"] ?? delta["text"]);
  }
  for (const choice of listOf(choices)) addChoice(parts, choice);
}

function addChoice(parts: Map<string, StreamedPart>, { index, delta }: Json): void {
  if (!isJson(delta)) return;
  const { content, reasoning, reasoning_content: thought, tool_calls: calls } = delta;
  if (reasoning ?? thought) addTo(parts, `reasoning ${textOf(index)}`, "reasoning", reasoning ?? thought);
  if (content) addTo(parts, `text ${textOf(index)}`, "text", content);
  for (const call of listOf(calls)) {
    const made = isJson(call["function"]) ? call["function"] : {};
    const place = `call ${textOf(index)} ${textOf(call["index"])}`;
    addTo(parts, place, "call", made["arguments"], { name: made["name"], id: call["id"] });
  }
}
