/** Types shared by all detector services: detections, failures and the form of a call. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { ScannedSide } from "../../turn/applied-guardrails.ts";
import type { TurnSignal } from "../../turn/signal.ts";

/** A finding in a text. */
export interface Detection extends TextSpan {
  /** Category of the configuration file. */
  readonly category: string;
  /** 0 to 1. */
  readonly score: number;
}

/** The detector gave no answer, which never counts as a clean text. */
export class DetectorUnavailable extends Error {}

export interface PostedAnswer {
  readonly status: number;
  readonly body: string;
}

/** Sends a JSON body to a path of the service. @throws Error without a readable response in time */
export type Post = (
  path: string,
  body: string,
  limits: {
    readonly signal: TurnSignal;
    readonly timeoutMs: number;
    /** Header fields of this call. */
    readonly fields?: Readonly<Record<string, string>>;
  },
) => Promise<PostedAnswer>;

/** The protocol of a kind of service. */
export interface DetectorWire {
  /** Kind of the service, as stages name it. */
  readonly kind: "ner" | "classifier" | "moderation" | "webhook";
  /** Whether findings have places in the text; otherwise a finding applies to the whole text. */
  readonly returnsSpans: boolean;
  /** Whether questions say if the text is of a request or of an answer. */
  readonly tellsSides?: boolean;
  readonly path: string;
  /** UTF-16 units per question, unless configured. */
  readonly windowLength: number;
  /** Whether a question that is too long can be split; true when absent. */
  readonly isDivisible?: boolean;
  bodyOf(text: string, side: ScannedSide): string;
  /** Header fields for a body. @param id of the question, the same in its repetitions */
  fieldsOf?(body: string, id: string): Readonly<Record<string, string>>;
  /** @throws DetectorUnavailable for an answer that does not match the text: nothing of it is used then */
  marksOf(answer: unknown, text: string): readonly Detection[];
}
