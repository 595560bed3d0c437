/** service:advisor: lets the model ask another, usually stronger, model for advice while it answers. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { described, object, string } from "@sluice/proto/lib/validation/shape.js";
import { quoteData } from "../../content/quoted-data.ts";
import { showsParts } from "./part-call.ts";
import type { ItemEvent } from "../../turn/progress-buffer.ts";
import type { InputItem } from "../../turn/request.ts";
import { StateKey } from "../../turn/turn-state.ts";
import { truncateMiddle } from "../../turn/truncate.ts";
import type { OutputItem } from "../../turn/turn.ts";
import type { CalledModels } from "../../agent-loop/called-models.ts";
import {
  type RestoredCall,
  type ServerTool,
  type ToolCall,
  type ToolResult,
  type ToolSettings,
  errorOutput,
  isForRestoredCalls,
} from "../../agent-loop/tool.ts";
import { callModelForPart, partToolMs, unknownModel } from "./tool-call.ts";
import { writeTranscript } from "../../content/transcript.ts";
import { readToolReasoning } from "./reasoning-field.ts";

/** Maximum calls of all advisors in a response: each costs as much as an answer. */
const maxCalls = 8;
const standardTokens = 16_000;
/** Share of the advisor's context window for the conversation; the rest is for earlier advice and the question. */
const transcriptShare = 0.5;

const kind = "service:advisor";

export interface AdvisorDeps {
  readonly models: CalledModels;
  /** Slug of the model for entries that name none; undefined when the operator has configured none. */
  readonly model: string | undefined;
}

interface Wanted {
  readonly name?: string;
  readonly model?: string;
  readonly instructions?: string;
  readonly forward_transcript?: boolean;
  readonly stream?: boolean;
  readonly max_completion_tokens?: number;
  readonly reasoning?: Parameters<typeof readToolReasoning>[0];
  readonly temperature?: number;
}

interface Exchange {
  readonly prompt: string;
  readonly advice: string;
}

const callsMade = new StateKey(() => ({ count: 0 }));

const prompt = described(
  string({ min: 1 }),
  "The question, with everything that the advisor has to know: it sees nothing else, unless it is said that it sees the conversation.",
);
const model = described(string({ min: 1 }), "Slug of another model that shall advise; leave it out for the usual one.");

export const advisor = (parts: AdvisorDeps): ServerTool => ({
  kinds: [kind],
  hasEffect: true,
  open(settings) {
    const wanted: Wanted = settings.parameters;
    const advice = isForRestoredCalls(settings) ? undefined : new Advice(settings, parts);
    const isStreamed = wanted.stream === true && settings.request.stream && showsParts(settings.request);
    return {
      description: descriptionOf(wanted),
      arguments: object(
        { prompt, ...(wanted.model === undefined && { model }) },
        { required: ["prompt"], strict: true },
      ),
      blank: { ...named(wanted), status: "failed" },
      limitMs: partToolMs,
      ...(wanted.name !== undefined && { instance: wanted.name }),
      ...(isStreamed && { ending }),
      run: (args, call) => (advice as Advice).run(args, call, isStreamed),
      recall,
    };
  },
});

const named = ({ name }: Wanted): JsonObject => (name === undefined ? {} : { instance_name: name });

const descriptionOf = ({ name, forward_transcript: seesAll }: Wanted): string =>
  `Asks ${name === undefined ? "a stronger model" : `the advisor "${name}"`} for advice. It is slow and costs money: call it before decisions that are hard to undo, ` +
  `when you are stuck, or to have a plan checked. It ${seesAll === true ? "sees the conversation" : "does not see the conversation"}, remembers what it was asked before, and has no tools. ` +
  "Weigh its advice: you decide, and you write the answer.";

const standardInstructions =
  "Another model asks for your advice in the middle of its work on a request. Give a decision and the reasons for it, the risks, and the next steps, in at most 400 words. " +
  "The other model writes the answer; do not write it.";

const event = (step: "delta" | "done", payload: JsonObject): ItemEvent => ({
  name: `response.output_text.${step}`,
  payload: { content_index: 0, ...payload, logprobs: [] },
});

const ending = ({ advice: text }: OutputItem): readonly ItemEvent[] =>
  typeof text === "string" ? [event("done", { text })] : [];

/** An advisor in one turn, with its earlier questions and answers in this turn and in the history. */
class Advice {
  readonly #settings: ToolSettings;
  readonly #wanted: Wanted;
  readonly #models: CalledModels;
  readonly #model: string;
  readonly #past: Exchange[];

  /** Finds the advisor's model. @throws Fault INVALID_REQUEST when the model does not exist, PERMISSION_DENIED when the key may not use it */
  constructor(settings: ToolSettings, { models, model: standard }: AdvisorDeps) {
    this.#settings = settings;
    this.#wanted = settings.parameters;
    this.#models = models;
    const { model: slug = standard } = this.#wanted;
    const path = `${settings.path}.parameters.model`;
    if (slug === undefined)
      throw invalid(path, "names no model, and this service has no advisor; its operator sets internal_models.advisor");
    const wrong = unknownModel(slug, models);
    if (wrong !== undefined) throw invalid(path, wrong);
    models.permitted([slug], settings.scope);
    this.#model = slug;
    this.#past = settings.request.input.flatMap((item) => exchangeOf(item, this.#wanted.name) ?? []);
  }

  async run(args: JsonObject, call: ToolCall, isStreamed: boolean): Promise<ToolResult> {
    const question = String(args["prompt"]);
    const slug = typeof args["model"] === "string" ? args["model"] : this.#model;
    const made = call.scope.state.get(callsMade);
    const refused =
      made.count >= maxCalls
        ? `the limit of ${maxCalls} calls of advisors is reached`
        : unknownModel(slug, this.#models);
    if (refused !== undefined) return this.#failed(question, slug, refused);
    made.count++;
    const { request } = this.#settings;
    const result = await callModelForPart(
      this.#models,
      { part: "advisor", request, own: this.#own(question, slug, call) },
      call,
      (type, delta) => {
        if (isStreamed && type === "text") call.sendProgress(event("delta", { delta }));
      },
    );
    const text = "reply" in result ? result.reply.text : "";
    if (text.trim() === "") return this.#failed(question, slug, "error" in result ? result.error : "it said nothing");
    this.#past.push({ prompt: question, advice: text });
    const shown = showsParts(request) ? { advice: text } : {};
    return {
      output: JSON.stringify({ advice: text }),
      item: { prompt: question, ...shown, model: slug, ...named(this.#wanted) },
    };
  }

  #own(question: string, slug: string, { input }: ToolCall) {
    const {
      max_completion_tokens: maxTokens = standardTokens,
      reasoning: wish,
      temperature,
      instructions,
    } = this.#wanted;
    const reasoning = readToolReasoning(wish);
    return {
      models: [slug],
      instructions: instructions ?? standardInstructions,
      input: [
        ...this.#past.flatMap(({ prompt: earlier, advice }) => [
          toMessage("user", earlier),
          toMessage("assistant", advice),
        ]),
        toMessage("user", this.#question(question, slug, input)),
      ],
      tools: [],
      maxOutputTokens: this.#models.room(slug, maxTokens),
      ...(reasoning && { reasoning }),
      ...(temperature !== undefined && { temperature }),
    };
  }

  #question(question: string, slug: string, input: readonly InputItem[]): string {
    if (this.#wanted.forward_transcript !== true) return question;
    const transcript = writeTranscript(this.#settings.request, input);
    const cut = truncateMiddle(transcript, Math.floor(this.#models.window(slug) * transcriptShare));
    return `The conversation so far:\n${quoteData(cut)}\n\nThe question:\n${question}`;
  }

  #failed(question: string, slug: string, error: string): ToolResult {
    const item = { status: "failed", prompt: question, model: slug, ...named(this.#wanted), error };
    return { output: errorOutput(error), item, failed: true };
  }
}

const toMessage = (role: "user" | "assistant", text: string): InputItem => ({
  type: "message",
  role,
  content: [{ type: role === "user" ? "input_text" : "output_text", text }],
});

/** The question and advice in an item of the advisor with this name. @returns undefined for other items */
function exchangeOf(item: InputItem, name: string | undefined): Exchange | undefined {
  const { type, prompt: question, advice, instance_name: owner } = item;
  if (type !== kind || owner !== name) return undefined;
  return typeof question === "string" && typeof advice === "string" ? { prompt: question, advice } : undefined;
}

function recall({ prompt: question, advice, error }: InputItem): RestoredCall {
  const args = { prompt: typeof question === "string" ? question : "" };
  if (typeof error === "string") return { args, output: errorOutput(error) };
  return {
    args,
    output: JSON.stringify(typeof advice === "string" ? { advice } : { note: "The advice is not kept." }),
  };
}
