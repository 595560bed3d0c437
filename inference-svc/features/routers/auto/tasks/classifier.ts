/** Asks a classifier model for the task and the difficulty of a request, when the local guess is unsure. */
import type { ChooserSettings } from "@sluice/proto/config/internal-models.js";
import {
  type CallContext,
  type InternalQuestion,
  type RouteRequest,
  findForbiddingReasons,
} from "../../../../models/internal-calls/internal-call.ts";
import { type FailureKind, JudgeClient, JudgeUnavailable } from "../../../../models/internal-calls/judge-client.ts";
import { quoteEvidence } from "../../../../content/quoted-data.ts";
import { findObject } from "../../../../models/internal-calls/judge-verdict.ts";
import { findLastUserRequest } from "../../../../models/routing/choose/user-messages.ts";
import type { TextFormat, TurnRequest } from "../../../../turn/request.ts";
import { truncate } from "../../../../turn/truncate.ts";
import type { Turn } from "../../../../turn/turn.ts";
import type { Task } from "./tasks.ts";

/** The classifier model's estimate of a request. */
export interface TaskReading {
  readonly task: Task;
  /** Difficulty from 0, a line of small talk, to 4, work for an expert. */
  readonly difficulty: number;
}

/** Version of the prompt, a part of the cache key; must be increased when the prompt changes. */
const promptVersion = "1";

const meanings: Readonly<Record<Task, string>> = {
  code: "writing, explaining or mending code",
  code_agent: "the same with tools that edit files or run commands",
  agent: "other work with tools, and plans for it",
  math: "mathematics and logic",
  knowledge: "facts, science, law, medicine, reports about them",
  document: "questions about a text that is given, its summary, data or class",
  translate: "translation",
  write: "stories, letters, ideas, better words, roles",
  chat: "small talk and support",
  vision: "questions about pictures",
  other: "none of these",
};

const instructions =
  "You sort requests to language models by their task and difficulty. You are shown the last request of a user; do not answer it. The tasks:\n" +
  Object.entries(meanings)
    .map(([task, meaning]) => `${task}: ${meaning}`)
    .join("\n") +
  "\nThe difficulty is a number from 0 to 4: 0 is small talk or a single lookup, 1 is easy, 2 takes care, 3 is hard for most people of the trade, 4 is work for an expert. " +
  'Answer with one JSON object and nothing else: {"task": a name of the list, "difficulty": a number}.';

const schema = {
  type: "object",
  properties: { task: { type: "string", enum: Object.keys(meanings) }, difficulty: { type: "number" } },
  required: ["task", "difficulty"],
  additionalProperties: false,
};

const formats: Readonly<Record<ChooserSettings["structured"], TextFormat | undefined>> = {
  json_schema: { type: "json_schema", name: "request", schemaJson: JSON.stringify(schema), strict: true },
  json_object: { type: "json_object" },
  prompt: undefined,
};

/** Parses the classifier model's answer. @returns undefined when it does not have the requested form */
export function parseReading(text: string): TaskReading | undefined {
  const { task, difficulty } = findObject(text) ?? {};
  if (typeof task !== "string" || !Object.hasOwn(meanings, task)) return undefined;
  if (typeof difficulty !== "number" || !(difficulty >= 0 && difficulty <= 4)) return undefined;
  return { task: task as Task, difficulty };
}

/** Maximum UTF-16 units of the request that are sent to the classifier model. */
const maxShown = 8_000;
const maxTokens = 60;

export class TaskClassifier {
  readonly #settings: ChooserSettings;
  readonly #client: JudgeClient<TaskReading>;

  /** @param turn calls the endpoints of a model directly, without layers */
  constructor(turn: Turn, settings: ChooserSettings, now: () => number = () => performance.now()) {
    this.#settings = settings;
    this.#client = new JudgeClient({ turn, settings, read: ({ text }) => parseReading(text), now });
  }

  get model(): string {
    return this.#settings.model;
  }

  /** Why the request's data policy forbids the call to the model; empty when it is allowed. */
  forbidden(route: RouteRequest, context: CallContext): readonly string[] {
    return findForbiddingReasons(route, this.#question("", ""), context);
  }

  /** Calls the model. @returns the estimate, or why there is none @throws Fault when the turn is over */
  async read(context: CallContext): Promise<TaskReading | FailureKind> {
    const { request } = context;
    const text = truncate(findLastUserRequest(request.input).text, maxShown);
    const surroundings = surroundingsOf(request);
    const key = [promptVersion, this.#settings.model, surroundings, text];
    try {
      return await this.#client.get(key, () => this.#question(text, surroundings), context);
    } catch (error) {
      if (error instanceof JudgeUnavailable) return error.kind;
      throw error;
    }
  }

  #question(text: string, surroundings: string): InternalQuestion {
    const { model, structured } = this.#settings;
    const format = formats[structured];
    return {
      model,
      purpose: "classifier",
      logprobs: false,
      instructions,
      text: `${surroundings}The last request of the user:\n${quoteEvidence(text)}`,
      maxOutputTokens: maxTokens,
      ...(format && { format }),
    };
  }
}

/**
 * Properties of a request besides its text that distinguish tasks. Counts are left out: they change with every turn, so
 * no cached answer would be found.
 */
function surroundingsOf({ tools, textFormat }: TurnRequest): string {
  const facts = [
    ...(tools.length > 0 ? ["The model that answers has tools."] : []),
    ...(textFormat?.type === "json_schema" ? ["The answer is to be JSON of a given schema."] : []),
  ];
  return facts.map((fact) => `${fact}\n`).join("");
}
