/** Limits for the figures of a simulation. */
import type { FanOutFigures } from "./fan-out.ts";
import { type BalanceFigures, type OutageFigures, outageS } from "./outage.ts";
import type { ReadFigures } from "./reads.ts";
import type { SessionFigures } from "./sessions.ts";
import type { Size } from "./size.ts";

export interface SimulationFigures {
  readonly outages: readonly OutageFigures[];
  readonly sessions: SessionFigures;
  readonly fanOut: FanOutFigures;
  readonly reads: readonly ReadFigures[];
}

/** Retries that may fail at an endpoint: a fifth of its requests in ten seconds, or three, or ten while it is in use (attempt/retry-budget.ts). */
const retryShare = 0.2;
const minRetries = 3;
const minRetriesInUse = 10;
/** Seconds of an endpoint's second ejection, after a failed first trial, with maximum jitter (attempt/ejection.ts). */
const secondRestS = 72;
/** Milliseconds within which a change must take effect everywhere, unless a process is slow. */
const enforcedMs = 250;
/**
 * Maximum number of attempts of a process to connect within a second: they follow pauses of 50, 100, 200 and 400 ms, each of which jitter may halve.
 */
const connectsOfSecond = 5;
/** Maximum milliseconds for which a request waits for its key while every key is read again. */
const changeWaitMs = 500;

export function findComplaints(figures: SimulationFigures, size: Size): readonly string[] {
  const { outages, sessions, fanOut, reads } = figures;
  return [
    ...outages.flatMap((outage) => complaintsOfOutage(outage, size)),
    ...complaintsOfSessions(sessions),
    ...complaintsOfFanOut(fanOut),
    ...complaintsOfReads(reads, size),
  ];
}

type Claim = readonly [holds: boolean, complaint: string];

const broken = (claims: readonly Claim[]): readonly string[] =>
  claims.flatMap(([holds, complaint]) => (holds ? [] : [complaint]));

/** Maximum calls per request that the retry budget permits with three endpoints, over the time of an outage. */
export function callsAllowed({ requestsPerSecond, replicas }: Size): number {
  const ofReplica = requestsPerSecond / replicas;
  return 1 + retryShare + (3 * minRetries) / (10 * ofReplica) + (3 * minRetriesInUse) / (outageS * ofReplica);
}

function complaintsOfOutage(outage: OutageFigures, size: Size): readonly string[] {
  const { name, isTotal, callsDuring, failedDuring, failedAfter, leftS, mostBackS, restCalls, herd, balance } = outage;
  // Among a few hundred seconds, the busiest one exceeds the mean by so much by chance.
  const maxHerd = 1.2 + 4 / Math.sqrt(outage.usualCalls);
  return broken([
    [callsDuring <= callsAllowed(size), `${name}: ${callsDuring} calls a request, above ${callsAllowed(size)}`],
    [isTotal || failedDuring <= 0.001, `${name}: ${failedDuring} of the requests failed`],
    [failedAfter <= 0.001, `${name}: ${failedAfter} of the requests failed after the outage`],
    [leftS !== undefined || outage.health === "brownout", `${name}: some replicas never left the endpoint`],
    [isTotal || restCalls <= 0.05, `${name}: an ejected endpoint got ${restCalls} of its calls`],
    // One trial in a thousand fails by chance, and its replica then ejects the endpoint a third time.
    [mostBackS !== undefined && mostBackS <= secondRestS + 2, `${name}: most replicas were back after ${mostBackS} s`],
    [herd <= maxHerd, `${name}: the endpoint that came back got ${herd} times its calls within a second`],
    ...claimsOfBalance(name, balance, size),
  ]);
}

/** Checks that shares follow the prices, as far as chance permits: half of the requests belong to sessions, one for each key. */
function claimsOfBalance(
  name: string,
  { shares, expected, deviation, chance }: BalanceFigures,
  { keys }: Size,
): readonly Claim[] {
  const worst = Math.max(...shares.map((share, place) => Math.abs(share - expected[place]!)));
  return [
    [
      worst <= 0.005 + 2 / Math.sqrt(keys),
      `${name}: an endpoint's share of the load differs by ${worst} from that of its price`,
    ],
    [deviation <= 2 * chance, `${name}: shares of replicas differ by ${deviation}, by chance ${chance}`],
  ];
}

const complaintsOfSessions = ({ ofLeaving, moved, othersMoved, disagreements, notBack }: SessionFigures) =>
  broken([
    [moved === ofLeaving && othersMoved === 0, `${othersMoved} sessions moved although their endpoint stayed`],
    [disagreements === 0, `${disagreements} sessions have two endpoints`],
    [notBack === 0, `${notBack} sessions did not return with their endpoint`],
  ]);

const complaintsOfFanOut = ({ replicas, changes, restarts }: FanOutFigures) =>
  broken([
    ...changes.map(
      ({ name, ms, unsure }): Claim => [
        unsure === 0 && ms <= enforcedMs,
        `a change of ${name} took ${ms} ms, and ${unsure} processes had not acknowledged it`,
      ],
    ),
    ...restarts.flatMap(({ downS, peakSecond, backS, reads }): Claim[] => [
      [peakSecond <= connectsOfSecond * replicas, `${downS} s without admin-svc: ${peakSecond} connects in a second`],
      [backS <= 3, `${downS} s without admin-svc: all processes watched again after ${backS} s`],
      [reads === 0, `${downS} s without admin-svc: ${reads} keys were read again`],
    ]),
  ]);

/**
 * Checks that once caches are full, only requests with a key new to the process read keys. After a change of every key, each of these keys is read
 * again, which delays requests only briefly.
 */
function complaintsOfReads([empty, filled, changed]: readonly ReadFigures[], size: Size): readonly string[] {
  if (empty === undefined || filled === undefined || changed === undefined) return ["no keys were read"];
  return broken([
    [empty.reads <= size.readRequestsPerSecond, `${empty.reads} keys a second were read for fewer requests`],
    [size.fillS === 0 || filled.reads <= empty.reads / 2, `${filled.reads} keys a second were read with full caches`],
    [size.fillS === 0 || filled.failed === 0, `${filled.failed} of the requests found no policy with full caches`],
    [changed.failed === 0, `${changed.failed} of the requests found no policy after a change of every key`],
    [changed.longestMs <= changeWaitMs, `after a change of every key a request waited for ${changed.longestMs} ms`],
    [
      changed.reads <= 1.1 * empty.reads,
      `${changed.reads} keys a second were read after a change of every key, and ${empty.reads} with empty caches`,
    ],
    [changed.saturatedS <= 1, `a change of every key kept admin-svc saturated for ${changed.saturatedS} s`],
  ]);
}
