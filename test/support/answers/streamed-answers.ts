/** Converts streams of each format to the items that a client sends back later. */

type Json = Record<string, unknown>;

/** The data of a stream's events, without the mark at its end. */
export const eventData = (text: string): readonly Json[] =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice("data: ".length)) as Json);

/** The items of a response, from its terminal event. */
export const readStreamedResponse = (text: string): readonly object[] => {
  const { response } = eventData(text).at(-1) as { response: { output: object[] } };
  return response.output;
};

interface Delta extends Json {
  readonly tool_calls?: readonly CallDelta[];
  readonly reasoning_details?: readonly Json[];
}
interface CallDelta extends Json {
  readonly index: number;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

/** The message of a chat completion: texts are joined, calls and reasoning by their index. */
export function readStreamedCompletion(text: string): object {
  const message = { role: "assistant", content: null as string | null };
  const calls: { arguments: string; head: CallDelta }[] = [];
  const details: Json[] = [];
  for (const { choices } of eventData(text) as readonly { choices: readonly { delta: Delta }[] }[]) {
    const [{ delta } = { delta: {} as Delta }] = choices;
    if (typeof delta["content"] === "string") message.content = (message.content ?? "") + delta["content"];
    for (const call of delta.tool_calls ?? []) {
      calls[call.index] ??= { arguments: "", head: call };
      (calls[call.index] as { arguments: string }).arguments += call.function?.arguments ?? "";
    }
    for (const detail of delta.reasoning_details ?? []) joinDetail(details, detail);
  }
  const made = calls.map(({ head, arguments: written }) => ({
    id: head["id"],
    type: "function",
    function: { name: head.function?.name, arguments: written },
  }));
  return {
    ...message,
    ...(made.length > 0 && { tool_calls: made }),
    ...(details.length > 0 && { reasoning_details: details }),
  };
}

/** Adds a piece of reasoning details. Pieces of one entry have the same index: their texts are joined, and other members are overwritten. */
function joinDetail(details: Json[], detail: Json): void {
  const known = details.find(({ index, type }) => index === detail["index"] && type === detail["type"]);
  if (!known) return void details.push({ ...detail });
  for (const [name, value] of Object.entries(detail)) {
    const isPiece = (name === "text" || name === "summary" || name === "data") && typeof known[name] === "string";
    known[name] = isPiece ? `${known[name] as string}${value as string}` : (value ?? known[name]);
  }
}

/** The content of a message in Anthropic's format. */
export function readStreamedMessage(text: string): readonly object[] {
  const blocks: Json[] = [];
  const inputs: string[] = [];
  for (const event of eventData(text)) {
    const index = event["index"] as number;
    if (event["type"] === "content_block_start") blocks[index] = { ...(event["content_block"] as Json) };
    if (event["type"] !== "content_block_delta") continue;
    const delta = event["delta"] as Record<string, string>;
    const block = blocks[index] as Json;
    if (delta["type"] === "text_delta") block["text"] = `${block["text"] as string}${delta["text"]}`;
    if (delta["type"] === "thinking_delta") block["thinking"] = `${block["thinking"] as string}${delta["thinking"]}`;
    if (delta["type"] === "signature_delta") block["signature"] = delta["signature"];
    if (delta["type"] === "input_json_delta") inputs[index] = (inputs[index] ?? "") + delta["partial_json"];
  }
  for (const [index, json] of inputs.entries()) {
    if (json !== undefined && json !== "") (blocks[index] as Json)["input"] = JSON.parse(json);
  }
  return blocks;
}
