/**
 * Guesses from a request's text how hard it is, at no cost, when no model is called to judge it. Weights and cuts were
 * set by hand; nothing was trained, and no accuracy is claimed.
 */
import type { TurnRequest } from "../../../turn/request.ts";
import { findLastUserRequest } from "./user-messages.ts";

export interface DifficultyEstimate {
  /** Difficulty from 0, a line of small talk, to 4, work for an expert. */
  readonly difficulty: number;
  readonly task: BenchmarkTask;
  /** Whether the text has other hints than its length. */
  readonly hasCues: boolean;
}

/** Names of benchmarks with scores in the configuration file. */
export type BenchmarkTask = "coding" | "math" | "general";

/** UTF-16 units read from the beginning and from the end of a text. */
const maxReadUnits = 8_000;

interface Feature {
  readonly weight: number;
  readonly found: (text: string) => number;
}

const occurrences = (text: string, pattern: RegExp, max: number): number =>
  Math.min(max, Array.from(text.matchAll(pattern)).length);
const has = (pattern: RegExp) => (text: string) => Number(pattern.test(text));

const code = /```|^(?:diff --git|@@ |\+\+\+ )|\b(?:function|class|def|import|const|SELECT|#include)\b.{0,80}[({;:]/m;
const codeWords =
  /\b(?:code|bug|function|typescript|javascript|python|rust|java|sql|regex|api|compiler?|refactor|unit tests?|stack trace|pull request)\b/i;
const mathWords =
  /[\u2200\u2203\u2208\u2211\u220f\u222b\u221a\u2264\u2265]|\b(?:prove|proof|theorem|lemma|integral|derivative|eigenvalues?|probability|modulo)\b/i;

/**
 * Score for the length of a text. A text ten times as long gets 0.9 more, up to some 300 characters: longer texts are
 * mostly data attached to the request.
 */
const lengthCue = (text: string): number => 0.9 * Math.min(1, Math.log10(1 + text.length) - 1.5);

const features: readonly Feature[] = [
  { weight: 1, found: has(code) },
  { weight: 1.2, found: has(mathWords) },
  {
    weight: 0.8,
    found: (text) =>
      occurrences(
        text,
        /\b(?:design|architect\w*|refactor|optimi[sz]e|debug|migrate|concurren\w+|race condition|deadlock|distributed|prove|derive|trade-?offs?|root cause|security|scal(?:e|able|ability))\b/gi,
        3,
      ),
  },
  {
    weight: -0.8,
    found: has(
      /^\W*(?:translate|summari[sz]e|rephrase|rewrite|format|list|define|extract|classify|spell|hi|hello|thanks?)\b/i,
    ),
  },
  { weight: 0.3, found: (text) => occurrences(text, /^[ \t]{0,8}(?:[-*]|\d{1,3}[.)])[ \t]/gm, 6) },
  {
    weight: 0.3,
    found: (text) => occurrences(text, /\b(?:must|should|without|except|only if|at least|at most)\b/gi, 4),
  },
];

/** Scores at the borders between the difficulties 0, 1, 2, 3 and 4. */
const cuts = [0.4, 1.9, 3.4, 4.9];
const ofTools = 0.4;
const ofSchema = 0.2;
const ofMedia = 0.3;

export function estimateDifficulty(request: TurnRequest): DifficultyEstimate {
  const { input, tools, textFormat } = request;
  const last = findLastUserRequest(input).text;
  const text = last.length <= 2 * maxReadUnits ? last : `${last.slice(0, maxReadUnits)}\n${last.slice(-maxReadUnits)}`;
  const cues = features.map(({ weight, found }) => weight * found(text));
  const sum =
    cues.reduce((total, cue) => total + cue, lengthCue(text)) +
    (tools.length > 0 ? ofTools : 0) +
    (textFormat?.type === "json_schema" ? ofSchema : 0) +
    (/\[input_(?:image|file|audio|video)\]/.test(text) ? ofMedia : 0);
  return {
    difficulty: cuts.reduce((expected, cut) => expected + sigmoid(2 * (sum - cut)), 0),
    task: guessTask(text),
    hasCues: cues.some((cue) => cue !== 0),
  };
}

function guessTask(text: string): BenchmarkTask {
  if (code.test(text) || codeWords.test(text)) return "coding";
  return mathWords.test(text) ? "math" : "general";
}

/**
 * Probability that a model of this ability solves a task of this difficulty, by two-parameter item response theory.
 * @param ability 0 is average
 */
export const solveProbability = (ability: number, difficulty: number): number =>
  sigmoid(discrimination * (ability - (difficulty - middle)));

const discrimination = 1.2;
const middle = 2;

export const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value));
