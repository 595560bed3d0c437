/** The built-in model: answers without a provider, the same to the same, and says what it is. For trying out, and for tests. */
import { throwIfAborted } from "../../turn/abort.ts";
import type { TurnRequest } from "../../turn/request.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import type { Batch, Outcome, Turn, TurnEvent } from "../../turn/turn.ts";
import type { Loss } from "../../turn/scope.ts";
import type { Refusal } from "../dialect.ts";
import { objects } from "../json.ts";
import { hostedTool, isSearch, offeredTools } from "../offered.ts";
import { type ItemStatus, Output } from "../output.ts";
import { type Line, inputTokens, scriptOf } from "./script.ts";

/** About the pace of a hosted model. */
const wordMs = 15;

/** Runs nothing: a tool of a provider would be promised in vain. */
export function echoRefusal(request: TurnRequest): Refusal | undefined {
  const hosted = hostedTool(request);
  if (!hosted) return undefined;
  return { path: hosted.path, message: `the built-in model runs no tools of type ${hosted.tool.spelling}` };
}

export const echo: Turn = (request, scope) => {
  throwIfAborted(scope.signal);
  scope.trace.losses.push(...echoLosses(request));
  const batches = speak(request, scope.signal);
  return Promise.resolve(batches);
};

const media: ReadonlySet<unknown> = new Set(["input_image", "input_file", "input_audio", "input_video"]);

/** Samplers have no meaning here; images and files would have one. */
export const echoLosses = (request: TurnRequest): readonly Loss[] => [
  ...offeredTools(request).flatMap(({ path, tool, allowed }) =>
    allowed && isSearch(tool)
      ? [{ path, reason: "all tools are there from the beginning: there is nothing to search" }]
      : [],
  ),
  ...request.input.flatMap((item, index) =>
    ["content", "output"].flatMap((field) =>
      objects(item[field]).flatMap(({ type }, part) =>
        media.has(type)
          ? [{ path: `input.${index}.${field}.${part}`, reason: "the built-in model reads text only" }]
          : [],
      ),
    ),
  ),
];

async function* speak(request: TurnRequest, signal: TurnSignal): AsyncIterable<Batch> {
  let batch: TurnEvent[] = [];
  const output = new Output((event) => batch.push(event));
  const budget = request.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  let spent = 0;
  let reasoningTokens = 0;
  const script = scriptOf(request);
  for (const line of script) {
    const writer = begin(output, line);
    const words = line.kind === "reasoning" ? [...line.summary, ...line.words] : line.words;
    let said = 0;
    for (; said < words.length && spent < budget; said++, spent++) {
      writer.say(words[said] ?? "", said);
      if (line.kind === "reasoning") reasoningTokens++;
      if (!request.stream) continue;
      yield batch;
      batch = [];
      await pause(signal);
    }
    writer.end(said === words.length ? "completed" : "incomplete");
    if (said < words.length) break;
  }
  const wanted = script.reduce((sum, line) => sum + tokensOf(line), 0);
  const usage = {
    inputTokens: inputTokens(request),
    outputTokens: spent,
    reasoningTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
  };
  batch.push({ type: "end", outcome: { ...outcomeOf(spent < wanted), usage, serviceTier: "default" } });
  yield batch;
}

const tokensOf = (line: Line): number => line.words.length + (line.kind === "reasoning" ? line.summary.length : 0);

const outcomeOf = (cut: boolean): Pick<Outcome, "status" | "reason"> =>
  cut ? { status: "incomplete", reason: "max_output_tokens" } : { status: "completed" };

async function pause(signal: TurnSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const go = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", go);
      resolve();
    };
    const timer = setTimeout(go, wordMs);
    signal.addEventListener("abort", go);
  });
  throwIfAborted(signal);
}

interface LineWriter {
  say(word: string, position: number): void;
  end(status: ItemStatus): void;
}

function begin(output: Output, line: Line): LineWriter {
  switch (line.kind) {
    case "reasoning": {
      const reasoning = output.reasoning();
      const summaryWords = line.summary.length;
      return {
        say(word, position) {
          if (position < summaryWords) return reasoning.summary(0, word);
          reasoning.close("summary.delta", 0);
          reasoning.text(0, word);
        },
        end: (status) => reasoning.end(status),
      };
    }
    case "call": {
      const call =
        line.type === "custom"
          ? output.customCall(line.name, undefined, line.namespace)
          : output.call(line.name, undefined, line.namespace);
      return { say: (word) => call.arguments(word), end: (status) => call.end(status) };
    }
    default: {
      const message = output.message();
      const refusal = line.kind === "refusal";
      const part = message.newPart(refusal ? "refusal" : "output_text");
      return {
        say: (word) => (refusal ? message.refusal(part, word) : message.text(part, word)),
        end: (status) => message.end(status),
      };
    }
  }
}
