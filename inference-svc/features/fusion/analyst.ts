/** The analyst of a fusion run: a model that compares the panel's answers in a machine-readable form, and decides nothing. */
import { createHash } from "node:crypto";
import { fusionAnalysis } from "@sluice/proto/contract/items/service-items.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { quoteEvidence } from "../../content/quoted-data.ts";
import { findObject } from "../../models/internal-calls/judge-verdict.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import { truncateMiddle } from "../../turn/truncate.ts";
import type { InputItem, TextFormat, TurnRequest } from "../../turn/request.ts";
import { type PartCaller, PartCall, partRequest } from "../model-tools/part-call.ts";
import type { PanelAnswer, PanelDeps } from "./panel.ts";

export interface Analysis {
  readonly consensus: readonly string[];
  readonly contradictions: readonly {
    readonly topic: string;
    readonly stances: readonly { readonly model: string; readonly stance: string }[];
  }[];
  readonly partial_coverage: readonly { readonly models: readonly string[]; readonly point: string }[];
  readonly unique_insights: readonly { readonly model: string; readonly insight: string }[];
  readonly blind_spots: readonly string[];
}

const task =
  "You compare answers that several experts gave to the same request. You neither answer it nor merge them. Name the experts by the labels of their answers, and nothing else. " +
  "Check facts that they dispute with your tools, if you have any. A list may be empty; at most 12 entries in each, of at most 400 characters. " +
  'Answer with one JSON object and nothing else: {"consensus": [what all say], "contradictions": [{"topic", "stances": [{"model": label, "stance"}]}], ' +
  '"partial_coverage": [{"models": [labels], "point": what only some say}], "unique_insights": [{"model": label, "insight": what only one says}], "blind_spots": [what none considers]}.';

const strings = { type: "array", items: { type: "string" } };
const list = (fields: Readonly<Record<string, object>>): object => ({ type: "array", items: closed(fields) });
const closed = (properties: Readonly<Record<string, object>>): object => ({
  type: "object",
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});
const text = { type: "string" };

const format: TextFormat = {
  type: "json_schema",
  name: "analysis",
  strict: true,
  schemaJson: JSON.stringify(
    closed({
      consensus: strings,
      contradictions: list({ topic: text, stances: list({ model: text, stance: text }) }),
      partial_coverage: list({ models: strings, point: text }),
      unique_insights: list({ model: text, insight: text }),
      blind_spots: strings,
    }),
  ),
};

const maxEntries = 12;
const maxEntryLength = 400;
/** How often the analyst is called for a readable answer. */
const tries = 2;

export type AnalystDeps = PanelDeps & {
  /** Approximate maximum input of the model in UTF-16 units. */
  readonly window: (model: string) => number;
};

/**
 * Compares the answers. @returns undefined when no comparison succeeds; the answers are then used without it @throws
 * Fault when the turn is over
 */
export async function analyseAnswers(
  answers: readonly PanelAnswer[],
  caller: PartCaller,
  parts: AnalystDeps,
): Promise<Analysis | undefined> {
  const { request, scope } = caller;
  const { settings, callModel, room, timeouts: patience } = parts;
  const { model } = settings;
  const labelled = labelsOf(answers, scope.generationId);
  const until = performance.now() + Math.min(patience.analystMs, (scope.deadline - performance.now()) / 2);
  const own = {
    models: [model],
    instructions: task,
    input: [{ type: "message", role: "user", content: question(request, labelled, parts.window(model)) }],
    tools: settings.tools,
    maxToolCalls: settings.maxToolCalls,
    maxOutputTokens: room(model, settings.maxTokens),
    ...settings.manner,
    temperature: 0,
    textFormat: format,
    stream: false,
  };
  for (let left = tries; left > 0 && performance.now() < until; left--) {
    try {
      const analystCall = new PartCall(caller, "analyst", until - performance.now());
      const reply = await analystCall.collect(callModel, partRequest(request, own));
      const analysis = read(reply.text, labelled);
      scope.trace.partNotes.push({ part: "analyst", outcome: analysis ? "answered" : "malformed" });
      if (analysis) return analysis;
    } catch {
      throwIfAborted(scope.signal);
      scope.trace.partNotes.push({ part: "analyst", outcome: "failed" });
      return undefined;
    }
  }
  return undefined;
}

type Labelled = ReadonlyMap<string, PanelAnswer>;

/** Labels the answers in random order, because places and names would bias a comparison. Equal seeds give equal order. */
function labelsOf(answers: readonly PanelAnswer[], seed: string): Labelled {
  const keyed = answers.map((answer, index) => ({
    answer,
    key: createHash("sha256").update(`${seed} ${index}`).digest("hex"),
  }));
  const shuffled = keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  return new Map(shuffled.map(({ answer }, index) => [`R${index + 1}`, answer]));
}

/** Share of the analyst's context window for the question. */
const taskShare = 0.2;
const answersShare = 0.6;

function question(request: TurnRequest, labelled: Labelled, window: number): string {
  const taskText = truncateMiddle(spoken(request.input), Math.floor(window * taskShare));
  const each = Math.floor((window * answersShare) / labelled.size);
  const answers = [...labelled].map(
    ([label, { content }]) => `${label}:\n${quoteEvidence(truncateMiddle(content, each))}`,
  );
  return [`The request.\n${quoteEvidence(taskText)}`, "The answers.", ...answers].join("\n\n");
}

const spoken = (input: readonly InputItem[]): string =>
  input
    .flatMap(({ type, role, content }) => (type === "message" ? `${String(role)}: ${wordsIn(content)}` : []))
    .join("\n\n");

function wordsIn(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .flatMap((part: { readonly text?: unknown } | null) => (typeof part?.text === "string" ? part.text : []))
    .join("\n");
}

/**
 * Parses the analyst's answer and replaces the labels with models. Labels without an answer are left out. @returns
 * undefined for another form
 */
function read(answer: string, labelled: Labelled): Analysis | undefined {
  const value = findObject(answer);
  const problems = new Problems();
  fusionAnalysis.check(value, "", problems);
  if (value === undefined || !problems.empty) return undefined;
  const found = value as unknown as Analysis;
  const few = <Entry>(entries: readonly Entry[]) => entries.slice(0, maxEntries);
  const cut = (entry: string) => Array.from(entry).slice(0, maxEntryLength).join("");
  const named = (label: string) => labelled.get(label.trim())?.model ?? [];
  return {
    consensus: few(found.consensus).map(cut),
    contradictions: few(found.contradictions).flatMap(({ topic, stances }) => {
      const known = stances.flatMap(({ model, stance }) => {
        const slug = named(model);
        return typeof slug === "string" ? [{ model: slug, stance: cut(stance) }] : [];
      });
      return known.length === 0 ? [] : [{ topic: cut(topic), stances: few(known) }];
    }),
    partial_coverage: few(found.partial_coverage).flatMap(({ models, point }) => {
      const known = models.flatMap(named);
      return known.length === 0 ? [] : [{ models: known, point: cut(point) }];
    }),
    unique_insights: few(found.unique_insights).flatMap(({ model, insight }) => {
      const slug = named(model);
      return typeof slug === "string" ? [{ model: slug, insight: cut(insight) }] : [];
    }),
    blind_spots: few(found.blind_spots).map(cut),
  };
}
