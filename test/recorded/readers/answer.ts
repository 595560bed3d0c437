/** The content of an answer in one form for every format, so a recording and Sluice's answer can be compared. */

export interface ToolCallFacts {
  readonly name: string;
  readonly input: unknown;
}

export interface SourceFacts {
  /** URL of the source; empty for a document or a tool's output. */
  readonly url: string;
  readonly title: string;
}

export interface TokenFacts {
  /** Tokens of the whole prompt, including those read from a cache or written to one. */
  readonly prompt: number;
  readonly cacheRead: number;
  readonly cacheWritten: number;
  /** Output tokens, including those of reasoning. */
  readonly completion: number;
  readonly thoughts: number;
}

/** Outcome of an answer; `cut` means that it has no end. */
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
  /** The format's own word for the reason of the end. */
  reason: string;
  tokens?: TokenFacts;
  /** The error of a failed answer. */
  fault?: { readonly status: number | undefined; readonly message: string };
  /** Facts about the events of a stream. */
  stream?: {
    /** Number of start events, in formats that have them. */
    readonly starts?: number;
    /** Number of terminal events: [DONE], `message_stop`, `response.completed` and similar ones. */
    readonly terminals: number;
    /** Number of chunks with a finish reason. */
    readonly reasons?: number;
    /** Texts joined from deltas, in formats whose last event repeats the complete texts. */
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
