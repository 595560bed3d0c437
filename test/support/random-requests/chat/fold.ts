/** Reads chat completions, complete or in chunks, as a client does. */
import { validate } from "../../answers/published.ts";

interface Call {
  readonly index?: number;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

interface Said {
  readonly content?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly Call[];
}

interface Choice {
  readonly message?: Said;
  readonly delta?: Said;
  readonly finish_reason?: string | null;
}

interface Answer {
  readonly choices: readonly Choice[];
}

/** @throws if the answer does not match its schema */
function read(schema: string, json: string): Answer {
  const answer = JSON.parse(json) as Answer;
  const problems = validate(schema, answer);
  if (problems.length > 0) throw new Error(`unlike ${schema}: ${problems.slice(0, 3).join("; ")}`);
  return answer;
}

export function foldCompletion(json: string): readonly string[] {
  const [choice] = read("ChatCompletion", json).choices;
  const { content, refusal, tool_calls: calls = [] } = choice?.message ?? {};
  return [content ?? "", refusal ?? "", ...calls.map(textOfCall), choice?.finish_reason ?? ""];
}

const textOfCall = ({ function: called }: Call): string => `${called?.name ?? ""}${called?.arguments ?? ""}`;

interface UsageChunk {
  readonly choices: readonly { readonly delta?: object; readonly finish_reason?: string | null }[];
  readonly usage?: object;
}

function isUsage(block: string): boolean {
  const { choices, usage } = JSON.parse(block.slice("data: ".length)) as UsageChunk;
  const isSilent = choices.every((choice) => Object.keys(choice.delta ?? {}).length === 0 && !choice.finish_reason);
  return usage !== undefined && isSilent;
}

export function foldChunks(text: string): readonly string[] {
  const blocks = text.split("\n\n");
  if (blocks.pop() !== "" || blocks.pop() !== "data: [DONE]")
    throw new Error(`a stream without its end: ${text.slice(-200)}`);
  let content = "";
  let refusal = "";
  let finish = "";
  const calls: string[] = [];
  for (const block of blocks) {
    if (!block.startsWith("data: ")) throw new Error(`no chunk: ${block.slice(0, 200)}`);
    const [choice] = read("ChatCompletionChunk", block.slice("data: ".length)).choices;
    if (choice === undefined) continue;
    // After the finish reason comes only the chunk with token counts, which has an empty choice.
    if (finish !== "" && !isUsage(block)) throw new Error(`a chunk after the finish reason: ${block.slice(0, 200)}`);
    if (finish !== "") continue;
    content += choice.delta?.content ?? "";
    refusal += choice.delta?.refusal ?? "";
    for (const call of choice.delta?.tool_calls ?? []) {
      const index = call.index ?? 0;
      calls[index] = (calls[index] ?? "") + textOfCall(call);
    }
    finish = choice.finish_reason ?? "";
  }
  return [content, refusal, ...calls, finish];
}
