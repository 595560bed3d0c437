/** Types shared by all detector services: detections, failures and the form of a call. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { ScannedSide } from "../../turn/applied-guardrails.ts";
import type { TurnSignal } from "../../turn/signal.ts";

/** A finding in a text. */
export interface Detection extends TextSpan {
  /** Category of the finding, as the configuration file names it. */
  readonly category: string;
  /** Score of the finding, from 0 to 1. */
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

/** The protocol for one kind of service. */
export interface DetectorWire {
  /** Kind of the service in the receipt. */
  readonly kind: "ner" | "classifier" | "moderation" | "webhook";
  /** Whether findings have places in the text; otherwise a finding applies to the whole text. */
  readonly returnsSpans: boolean;
  /** Whether the service is told if a text belongs to a request or an answer. */
  readonly tellsSides?: boolean;
  readonly path: string;
  /** Default maximum UTF-16 units of a question. */
  readonly windowLength: number;
  /** Whether a question that is too long can be divided; true when absent. */
  readonly isDivisible?: boolean;
  bodyOf(text: string, side: ScannedSide): string;
  /** Header fields for a body. @param id id of the question, equal in its repetitions */
  fieldsOf?(body: string, id: string): Readonly<Record<string, string>>;
  /** The findings in an answer. @throws DetectorUnavailable for an answer that does not match the text, of which nothing is used */
  marksOf(answer: unknown, text: string): readonly Detection[];
}
