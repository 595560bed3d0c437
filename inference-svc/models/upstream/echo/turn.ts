/**
 * The built-in model `echo`. It answers without a provider, with the same text to the same request, and its answer
 * states what it is. Made for trying out Sluice, and for tests.
 */
import { throwIfAborted } from "../../../turn/abort.ts";
import { toGeneratedAnswer } from "../../../turn/answer-kinds.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { TurnSignal } from "../../../turn/signal.ts";
import type { Batch, Outcome, Turn, TurnEvent } from "../../../turn/turn.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { Refusal } from "../dialect.ts";
import { objects } from "../json.ts";
import { findHostedTool, isToolSearch, offeredTools } from "../translate/offered-tools.ts";
import type { ItemStatus } from "../events/item-writer.ts";
import { Output } from "../events/output.ts";
import { type EchoLine, inputTokens, buildScript } from "./script.ts";

/** Milliseconds between words, about the pace of a hosted model. */
const wordMs = 15;

/** Refuses requests with hosted tools, which the built-in model does not run. */
export function refuseEcho(request: TurnRequest): Refusal | undefined {
  const hosted = findHostedTool(request);
  if (!hosted) return undefined;
  return { path: hosted.path, message: `the built-in model runs no tools of type ${hosted.tool.spelling}` };
}

export const echo: Turn = (request, scope) => {
  throwIfAborted(scope.signal);
  scope.trace.droppedFields.push(...findDroppedFields(request));
  return toGeneratedAnswer(speak(request, scope.signal));
};

const media: ReadonlySet<unknown> = new Set(["input_image", "input_file", "input_audio", "input_video"]);

/** Fields the built-in model ignores. Sampling parameters are not listed, because they would change nothing. */
export const findDroppedFields = (request: TurnRequest): readonly DroppedField[] => [
  ...offeredTools(request).flatMap(({ path, tool, allowed }) =>
    allowed && isToolSearch(tool) ? [{ path, reason: "all tools are sent, so there is nothing to search" }] : [],
  ),
  ...[
    ...(request.anthropicBetas ? ["anthropic_betas"] : []),
    ...(request.contextManagementJson === undefined ? [] : ["context_management"]),
  ].map((path) => ({ path, reason: "the built-in model has no such feature" })),
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

async function* speak(request: TurnRequest, signal: TurnSignal): AsyncGenerator<Batch> {
  let batch: TurnEvent[] = [];
  const output = new Output((event) => batch.push(event));
  const budget = request.maxOutputTokens ?? Number.POSITIVE_INFINITY;
  let spent = 0;
  let reasoningTokens = 0;
  const script = buildScript(request);
  for (const line of script) {
    const writer = begin(output, line);
    const words = line.kind === "reasoning" ? [...line.summary, ...line.words] : line.words;
    let written = 0;
    for (; written < words.length && spent < budget; written++, spent++) {
      writer.write(words[written] ?? "", written);
      if (line.kind === "reasoning") reasoningTokens++;
      if (!request.stream) continue;
      yield batch;
      batch = [];
      await pause(signal);
    }
    writer.end(written === words.length ? "completed" : "incomplete");
    if (written < words.length) break;
  }
  const wanted = script.reduce((sum, line) => sum + tokensOf(line), 0);
  const usage = {
    inputTokens: inputTokens(request),
    outputTokens: spent,
    reasoningTokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
  };
  const last = script.at(-1);
  const stopSequence = spent === wanted && last?.kind === "text" ? last.stopSequence : undefined;
  batch.push({ type: "end", outcome: { ...outcomeOf(spent < wanted), usage, serviceTier: "default", stopSequence } });
  yield batch;
}

const tokensOf = (line: EchoLine): number => line.words.length + (line.kind === "reasoning" ? line.summary.length : 0);

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
  write(word: string, position: number): void;
  end(status: ItemStatus): void;
}

function begin(output: Output, line: EchoLine): LineWriter {
  switch (line.kind) {
    case "reasoning": {
      const reasoning = output.reasoning();
      const summaryWords = line.summary.length;
      return {
        write(word, position) {
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
      return { write: (word) => call.arguments(word), end: (status) => call.end(status) };
    }
    default: {
      const message = output.message();
      const refusal = line.kind === "refusal";
      const part = message.newPart(refusal ? "refusal" : "output_text");
      return {
        write: (word) => (refusal ? message.refusal(part, word) : message.text(part, word)),
        end: (status) => message.end(status),
      };
    }
  }
}
