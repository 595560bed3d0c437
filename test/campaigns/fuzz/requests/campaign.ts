/** Runs bodies one after the other until the count or the time is up, and keeps the errors. */
import { generateBody } from "../../../support/random-requests/bodies.ts";
import type { FuzzedFormat } from "../../../support/random-requests/format.ts";
import { judgeFuzzedBody } from "../../../support/random-requests/judge.ts";
import { answerWithEcho, translateToDialects } from "../../../support/random-requests/subject.ts";

export interface RequestCampaignOptions {
  readonly format: FuzzedFormat;
  readonly seed: number;
  /** Bodies at most. */
  readonly count: number;
  readonly seconds: number;
  /** Called every ten seconds. */
  readonly progress?: (report: FuzzReport) => void;
}

export interface Complaint {
  /** Number of the body, for `--at`. */
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

/** Further complaints would most likely be the same again. */
const maxComplaints = 20;
const progressMs = 10_000;
/** The wire form and the built-in model take longer than all the rest, and are tried with every so-manieth body only. */
const seldom = 16;
/** Pause for the event loop, so that an unhandled rejection is seen. */
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

/** @returns the installation's fault; undefined without one */
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
