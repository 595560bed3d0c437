/** Calls for the ledger, and places without an admin-svc. */
import { type AddressInfo, createServer } from "node:net";
import { defaultWorkspaceId } from "@sluice/admin-svc/store/database.js";
import { FrameBuilder } from "@sluice/proto/lib/ledger/frame.js";
import { callName, endLine, startLine } from "@sluice/inference-svc/models/ledger/line.js";
import type { CallLedger, LedgerEntry } from "@sluice/inference-svc/models/ledger/ledger.js";
import type { CallEnd, CallStart, Tokens } from "@sluice/inference-svc/models/ledger/record.js";
import type { Segment, Spool } from "@sluice/inference-svc/models/ledger/spool.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import { newScope } from "../../asking.ts";

export const openedCall = (fields: Partial<CallStart> = {}): CallStart => ({
  turnId: newUuid(),
  attempt: 1,
  workspaceId: defaultWorkspaceId,
  keyHash: "b".repeat(64),
  generationId: "gen-1",
  requestId: "req_1",
  openedAtMs: Date.now(),
  model: "acme/large-2",
  provider: "acme",
  upstreamModel: "large-2",
  streamed: false,
  user: undefined,
  sessionId: undefined,
  tags: "",
  door: undefined,
  task: undefined,
  operation: "turn",
  payer: "key",
  isHeld: false,
  ...fields,
});

export const tokens: Tokens = { input: 3, cached: 0, cacheWrite: 0, output: 4, reasoning: 0 };

export const completedEnd: CallEnd = {
  status: "completed",
  httpStatus: 200,
  durationMs: 5,
  serviceTier: "default",
  tokens,
  isEstimated: false,
  costUsd: "0.000007",
  firstMs: undefined,
  finishReason: undefined,
};

export interface BegunCall extends LedgerEntry {
  /** Settles when the start is on the disk. */
  readonly started: Promise<void>;
}

export function beginCall(ledger: Pick<CallLedger, "open">, call: CallStart): BegunCall {
  let settle: (failure: Fault | undefined) => void = () => {};
  const started = new Promise<void>((resolve, reject) => {
    settle = (failure) => (failure ? reject(failure) : resolve());
  });
  const entry = ledger.open(call, newScope().scope, settle);
  return {
    started,
    span: undefined,
    note: (charge) => entry.note(charge),
    close: (end) => entry.close(end),
  };
}

export const lineOf = (call: CallStart): string => startLine(callName(call), call);

export const endOf = (call: CallStart, sequence = 1): string =>
  endLine(callName(call), completedEnd, { bootId: "b", sequence, instance: "i" });

/** Appends the lines as one frame. */
export function append(spool: Spool, ...lines: readonly string[]): void {
  const frame = new FrameBuilder();
  for (const line of lines) frame.add(line);
  spool.append(frame.finish());
}

/** A file left by an earlier start of a process. */
export const leftoverSegment = (path: string, size = 0): Segment => ({
  path,
  size,
  sealed: true,
  bootId: "",
  isOwn: false,
  open: 0,
  delivered: 0,
});

/** A port closing every connection at once. */
export async function openRefusingPort(): Promise<{ readonly port: number; readonly stop: () => Promise<void> }> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
