/** Runs bodies one after the other until their number or the time is reached, and records the faults. */
import { generateBody } from "../../../support/random-requests/bodies.ts";
import type { FuzzedFormat } from "../../../support/random-requests/format.ts";
import { judgeFuzzedBody } from "../../../support/random-requests/judge.ts";
import { answerWithEcho, translateToDialects } from "../../../support/random-requests/subject.ts";

export interface RequestCampaignOptions {
  readonly format: FuzzedFormat;
  readonly seed: number;
  /** Maximum number of bodies. */
  readonly count: number;
  readonly seconds: number;
  /** Called every ten seconds. */
  readonly progress?: (report: FuzzReport) => void;
}

export interface Complaint {
  /** Number of the body, to run it again by `--at`. */
  readonly number: number;
  readonly what: string;
  readonly body: string;
}

export interface FuzzReport {
  readonly seed: number;
  readonly bodies: number;
  readonly accepted: number;
  readonly complaints: readonly Complaint[];
  readonly seconds: number;
}

/** Maximum number of complaints; further ones would most likely be the same again. */
const maxComplaints = 20;
const progressMs = 10_000;
/**
 * Every body with a multiple of this number is also sent through the wire form and answered by the built-in model, which take longer than all the
 * rest.
 */
const seldom = 16;
/** Number of bodies between pauses for the event loop, in which an unhandled rejection is seen. */
const breathe = 256;

export async function runRequestCampaign({
  format,
  seed,
  count,
  seconds,
  progress,
}: RequestCampaignOptions): Promise<FuzzReport> {
  const startedAt = performance.now();
  const complaints: Complaint[] = [];
  let bodies = 0;
  let accepted = 0;
  let reportAt = progressMs;
  const report = (): FuzzReport => ({
    seed,
    bodies,
    accepted,
    complaints,
    seconds: (performance.now() - startedAt) / 1_000,
  });
  const unhandled = (reason: unknown) =>
    complaints.push({ number: bodies, what: `unhandled rejection: ${String(reason)}`, body: "" });
  process.on("unhandledRejection", unhandled);
  try {
    while (bodies < count && complaints.length < maxComplaints && performance.now() - startedAt < seconds * 1_000) {
      const what = await judgeBody(format, seed, bodies, () => accepted++);
      if (what !== undefined)
        complaints.push({ number: bodies, what, body: generateBody(seed, bodies, format).toString() });
      bodies++;
      if (bodies % breathe === 0) await new Promise(setImmediate);
      if (performance.now() - startedAt < reportAt) continue;
      reportAt = performance.now() - startedAt + progressMs;
      progress?.(report());
    }
    await new Promise(setImmediate);
  } finally {
    process.off("unhandledRejection", unhandled);
  }
  return report();
}

/** @returns the fault that the body shows; undefined if there is none */
export async function judgeBody(
  format: FuzzedFormat,
  seed: number,
  number: number,
  accepted: () => void = () => {},
): Promise<string | undefined> {
  const verdict = judgeFuzzedBody(format, generateBody(seed, number, format), number % seldom === 0);
  if (!verdict.accepted) return verdict.complaint;
  accepted();
  try {
    translateToDialects(format, verdict.accepted);
    if (number % seldom === 0) await answerWithEcho(format, verdict.accepted);
    return undefined;
  } catch (error) {
    return `crash: ${error instanceof Error ? error.stack : String(error)}`;
  }
}
