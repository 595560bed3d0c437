/** An answer's content in the same form for every format, so that a recording and Sluice's answer can be compared. */

export interface ToolCallFacts {
  readonly name: string;
  readonly input: unknown;
}

export interface SourceFacts {
  /** Empty for a document or an output of a tool. */
  readonly url: string;
  readonly title: string;
}

export interface TokenFacts {
  /** The whole prompt, including tokens read from a cache and written to one. */
  readonly prompt: number;
  readonly cacheRead: number;
  readonly cacheWritten: number;
  /** Output tokens, including thoughts. */
  readonly completion: number;
  readonly thoughts: number;
}

/** `cut` is an answer without an end. */
export type AnswerOutcome = "whole" | "cut" | "failed";

/** How an answer ended: `done` by itself or with calls, `limit` at a maximum of tokens, `withheld` by a filter or a refusal. */
export type AnswerEnding = "done" | "limit" | "withheld" | "paused" | "failed" | "";

export interface AnswerFacts {
  outcome: AnswerOutcome;
  text: string;
  thoughts: string;
  refusal: string;
  calls: ToolCallFacts[];
  sources: SourceFacts[];
  pictures: number;
  end: AnswerEnding;
  /** The format's own word for the end. */
  reason: string;
  tokens?: TokenFacts;
  /** Error of a failed answer. */
  fault?: { readonly status: number | undefined; readonly message: string };
  /** Facts of a stream. */
  stream?: {
    /** Start events of an answer, in formats with one. */
    readonly starts?: number;
    /** Terminal events of the answer: [DONE], `message_stop`, `response.completed` and its siblings. */
    readonly terminals: number;
    /** Chunks with a reason. */
    readonly reasons?: number;
    /** Texts assembled from deltas, in formats whose last event repeats the whole texts. */
    readonly deltas?: { readonly text: string; readonly thoughts: string; readonly refusal: string };
  };
}

export const emptyAnswer = (): AnswerFacts => ({
  outcome: "whole",
  text: "",
  thoughts: "",
  refusal: "",
  calls: [],
  sources: [],
  pictures: 0,
  end: "",
  reason: "",
});

export function failedAnswer(status: number | undefined, message: string): AnswerFacts {
  return { ...emptyAnswer(), outcome: "failed", fault: { status, message } };
}
