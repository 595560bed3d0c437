/**
 * Client of an external detector service. A failed or unreadable call never counts as a clean text. Only places and
 * scores are taken from an answer, and never text.
 */
import { createHash } from "node:crypto";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import type { DetectorSettings } from "@sluice/proto/config/detectors.js";
import type { ScannedSide } from "../../turn/applied-guardrails.ts";
import { throwIfAborted } from "../../turn/abort.ts";
import type { Scope } from "../../turn/scope.ts";
import type { TurnSignal } from "../../turn/signal.ts";
import { AnswerCache } from "../../models/internal-calls/answer-cache.ts";
import { Circuit } from "../../turn/circuit.ts";
import { ConcurrencySlots } from "../../turn/concurrency-slots.ts";
import { splitIntoWindows } from "../../content/text-windows.ts";
import { type Detection, DetectorUnavailable, type Post, type DetectorWire } from "./wire.ts";
import { marksByText, questionsOf } from "./questions.ts";

/** How a call of the service ended. */
export type CallOutcome = "answered" | "refused" | "unreadable" | "unreachable" | "cancelled";

/** Called before each call, which waits for it; returns a function to be called at the end of the call. */
export type CallWatch = (detector: string, scope: Scope) => OnCallEnd | Promise<OnCallEnd>;

export type OnCallEnd = (outcome: CallOutcome) => void;

export interface DetectorDeps {
  readonly post: Post;
  readonly watch: CallWatch;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
}

/** Settings of calls that all kinds of detectors have. */
export type DetectorCallSettings = Pick<
  DetectorSettings,
  | "id"
  | "categories"
  | "threshold"
  | "window_chars"
  | "timeout_ms"
  | "total_ms"
  | "retries"
  | "max_concurrency"
  | "cache_ttl_s"
>;

/** Maximum questions for one request: some megabytes of text, more than a long conversation gains from one request to the next. */
const maxQuestions = 1_000;
/** A text to scan, and whether it belongs to a request or an answer. */
interface Question {
  readonly text: string;
  readonly side: ScannedSide;
}

/** A question as it is sent, equal in every repetition. */
interface Message {
  readonly id: string;
  readonly text: string;
  readonly body: string;
}

/** Maximum concurrent questions of one request, so a long request does not block all others. */
const maxConcurrent = 8;
/** Maximum detections of a text that are cached; they take some kilobytes. A text with more is scanned again. */
const maxKept = 32;
/** Minimum UTF-16 units of a text for a classifier, whose labels mean nothing for a single word. */
const minClassifiedLength = 8;
/** UTF-16 units below which a question is not divided when the service finds it too long. */
const minHalvedLength = 800;

export class Detector {
  /** Name of the detector in the receipt, such as `ner:<id>`. */
  readonly engine: string;
  /** Default of the minimum score of a finding. */
  readonly threshold: number;
  /** Whether findings have a place in the text; if not, labels apply to the whole text. */
  readonly returnsSpans: boolean;
  readonly #settings: DetectorCallSettings;
  readonly #wire: DetectorWire;
  readonly #parts: DetectorDeps;
  readonly #circuit: Circuit;
  readonly #slots: ConcurrencySlots;
  readonly #answers: AnswerCache<readonly Detection[]>;

  constructor(settings: DetectorCallSettings, wire: DetectorWire, parts: DetectorDeps) {
    this.#settings = settings;
    this.#parts = parts;
    this.#wire = wire;
    this.engine = `${wire.kind}:${settings.id}`;
    this.threshold = settings.threshold;
    this.returnsSpans = wire.returnsSpans;
    this.#circuit = new Circuit(parts.now);
    this.#slots = new ConcurrencySlots(settings.max_concurrency);
    this.#answers = new AnswerCache(settings.cache_ttl_s * 1_000, parts.now, ({ length }) => length <= maxKept);
  }

  has(category: string): boolean {
    return Object.hasOwn(this.#settings.categories, category);
  }

  /**
   * Detections in no particular order, by text; texts without any are left out.
   * @throws DetectorUnavailable when a text could not be scanned; Fault when the turn is over
   */
  async find(
    texts: Iterable<string>,
    scope: Scope,
    side: ScannedSide = "input",
  ): Promise<ReadonlyMap<string, readonly Detection[]>> {
    const { window_chars: longest = this.#wire.windowLength } = this.#settings;
    const isWord = ({ length }: string) => this.#wire.kind === "classifier" && length < minClassifiedLength;
    const queried = [...texts].filter((text) => !isWord(text));
    const questions = [...questionsOf(queried, longest, this.returnsSpans)];
    if (questions.length > maxQuestions) throw new DetectorUnavailable(`${questions.length} stretches of text`);
    const found = new Map<string, Detection[]>();
    await someAtOnce(questions, async (question) => {
      for (const [text, mark] of marksByText(question, await this.#marks({ text: question.text, side }, scope))) {
        const before = found.get(text);
        if (before) before.push(mark);
        else found.set(text, [mark]);
      }
    });
    return found;
  }

  async #marks(question: Question, scope: Scope): Promise<readonly Detection[]> {
    const { text, side } = question;
    const { id } = this.#settings;
    const parts = [id, scope.caller.workspaceId, text, ...(this.#wire.tellsSides === true ? [side] : [])];
    const name = createHash("sha256").update(JSON.stringify(parts)).digest("base64");
    try {
      return await this.#answers.get(name, (signal) => this.#query(question, scope, signal), scope.signal);
    } catch (error) {
      throwIfAborted(scope.signal);
      const isDivisible = this.#wire.isDivisible !== false && text.length >= minHalvedLength;
      if (error instanceof TooLong && isDivisible) return this.#halves(question, scope);
      throw error instanceof DetectorUnavailable
        ? error
        : new DetectorUnavailable("the detector failed", { cause: error });
    }
  }

  async #halves({ text, side }: Question, scope: Scope): Promise<readonly Detection[]> {
    const halves = [...splitIntoWindows(text, Math.ceil(text.length / 2))];
    const marks = await Promise.all(halves.map((half) => this.#marks({ text: half.text, side }, scope)));
    return halves.flatMap(({ start: at }, index) =>
      (marks[index] ?? []).map((mark) => ({ ...mark, start: mark.start + at, end: mark.end + at })),
    );
  }

  async #query({ text, side }: Question, scope: Scope, signal: TurnSignal): Promise<readonly Detection[]> {
    const { total_ms: totalMs, retries } = this.#settings;
    // Other languages reject lone surrogates; the replacement has the same length.
    const body = this.#wire.bodyOf(text.replaceAll(/\p{Surrogate}/gu, "\ufffd"), side);
    const message = { id: `msg_${newUuid()}`, text, body };
    const until = performance.now() + totalMs;
    const release = await this.#slots.take(totalMs);
    if (release === undefined) throw new DetectorUnavailable("too many texts wait");
    try {
      for (let left = retries; ; left--) {
        throwIfAborted(signal);
        // The circuit is checked again, because it may have opened during the wait for a slot.
        if (this.#circuit.open) throw new DetectorUnavailable("the detector does not answer");
        try {
          return await this.#once(message, scope, signal, until);
        } catch (error) {
          if (!(error instanceof Unreachable) || left === 0 || performance.now() >= until) throw error;
        }
      }
    } finally {
      release();
    }
  }

  async #once(
    { id, text, body }: Message,
    scope: Scope,
    signal: TurnSignal,
    until: number,
  ): Promise<readonly Detection[]> {
    const timeoutMs = Math.max(1, Math.min(this.#settings.timeout_ms, until - performance.now()));
    const ended = await this.#parts.watch(this.#settings.id, scope);
    let outcome: CallOutcome = "unreachable";
    try {
      const fields = this.#wire.fieldsOf?.(body, id);
      const limits = { signal, timeoutMs, ...(fields && { fields }) };
      const { status, body: answerBody } = await this.#parts.post(this.#wire.path, body, limits);
      outcome = status === 200 ? "unreadable" : "refused";
      const marks = this.#marksIn(status, answerBody, text);
      outcome = "answered";
      return marks;
    } catch (error) {
      if (signal.aborted) outcome = "cancelled";
      // Only calls without an answer open the circuit: an error caused by a text must not disable the service for other
      // requests.
      else if (outcome === "unreachable" || error instanceof Unreachable) this.#circuit.failed();
      throw error instanceof DetectorUnavailable
        ? error
        : new Unreachable("the detector did not answer", { cause: error });
    } finally {
      ended(outcome);
    }
  }

  #marksIn(status: number, answerBody: string, text: string): readonly Detection[] {
    if (status === 413) throw new TooLong("a text that is too long");
    if (away.has(status)) throw new Unreachable(`status ${status}`);
    this.#circuit.succeeded();
    if (status !== 200) throw new DetectorUnavailable(`status ${status}`);
    return this.#wire.marksOf(parsed(answerBody), text);
  }
}

/** Statuses that mean the detector is down or overloaded: retried, and counted by the circuit breaker. */
const away: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Visits items concurrently, and begins no further one after a failure. */
async function someAtOnce<Item>(items: readonly Item[], visit: (item: Item) => Promise<void>): Promise<void> {
  // A generator the workers share would end for all of them when one stops reading.
  const left = (function* () {
    yield* items;
  })();
  const worker = async () => {
    for (const item of left) await visit(item);
  };
  await Promise.all(Array.from({ length: Math.min(maxConcurrent, items.length) }, worker));
}

class Unreachable extends DetectorUnavailable {}
class TooLong extends DetectorUnavailable {}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DetectorUnavailable("not JSON", { cause });
  }
}
