/** Formats the result of a simulation: figures only, so the same seed prints the same bytes. */
import { type SimulationFigures, callsAllowed } from "./complaints.ts";
import type { OutageFigures } from "./outage.ts";
import { fleetCallsPerSecond } from "./reads.ts";
import type { Size } from "./size.ts";

const percent = (share: number): string => `${(100 * share).toFixed(share < 0.01 ? 3 : 1)} %`;
const seconds = (value: number | undefined): string => (value === undefined ? "never" : `${value.toFixed(1)} s`);
const whole = (value: number): string => Math.round(value).toLocaleString("en-US");

export function simulationLines(
  seed: number,
  size: Size,
  { outages, sessions, fanOut, reads }: SimulationFigures,
): string[] {
  const { replicas, keys, requestsPerSecond, readRequestsPerSecond } = size;
  return [
    `seed ${seed}: ${whole(replicas)} replicas, ${whole(keys)} keys, ${whole(requestsPerSecond)} requests a second`,
    ...outages.flatMap((outage) => outageLines(outage, size)),
    `sessions: of ${whole(sessions.sessions)}, ${percent(sessions.ofLeaving)} had the endpoint that left; ${percent(sessions.moved)} moved, ${sessions.othersMoved} of other endpoints, ${sessions.notBack} were elsewhere once it was back, ${sessions.disagreements} differed between two replicas`,
    `policy: ${whole(fanOut.replicas)} processes at one admin-svc, ${whole(fanOut.idleMessages)} messages and ${whole(fanOut.idleBytes)} bytes a second without a change`,
    ...fanOut.changes.map(
      ({ name, ms, unsure, messages, bytes }) =>
        `policy: a change of ${name} in force everywhere after ${ms.toFixed(1)} ms, ${whole(messages)} messages, ${whole(bytes)} bytes, ${unsure} processes late`,
    ),
    ...fanOut.restarts.map(
      ({ downS, peakTenth, peakSecond, connects, backS, silenceS, reads: again }) =>
        `policy: admin-svc gone for ${downS} s: ${whole(connects)} connects, at most ${whole(peakTenth)} in 100 ms and ${whole(peakSecond)} in a second; all watch ${seconds(backS)} after its return, longest silence ${seconds(silenceS)}, ${again} keys read again`,
    ),
    `keys: ${whole(readRequestsPerSecond)} requests a second, admin-svc answers at most ${whole(fleetCallsPerSecond(size))} calls for a key a second`,
    ...reads.flatMap(
      ({ name, reads: mean, readsPeak, waited, longestMs, failed, superseded, calls, bytes, busy, saturatedS }) => [
        `keys: ${name}: ${whole(mean)} reads a second (peak ${whole(readsPeak)}), ${percent(waited)} of the requests waited (longest ${whole(longestMs)} ms), ${percent(failed)} failed, ${percent(superseded)} were served on an earlier policy`,
        `keys: ${name}: ${whole(calls)} calls and ${whole(bytes)} bytes a second, admin-svc busy for ${percent(busy)} of the time, and saturated for ${seconds(saturatedS)}`,
      ],
    ),
  ];
}

function outageLines(outage: OutageFigures, size: Size): string[] {
  const { name, requests, callsBefore, callsDuring, callsPeak, failedDuring, failedPeak, failedAfter } = outage;
  const { leftS, halfBackS, mostBackS, backS, restCalls, herd, balance } = outage;
  const shares = balance.shares.map((share, place) => `${percent(share)} (${percent(balance.expected[place]!)})`);
  return [
    `${name}: ${whole(requests)} requests; ${callsDuring.toFixed(3)} calls a request (allowed ${callsAllowed(size).toFixed(3)}, before ${callsBefore.toFixed(3)}, worst second ${callsPeak.toFixed(2)}); failed ${percent(failedDuring)} (worst second ${percent(failedPeak)}, afterwards ${percent(failedAfter)})`,
    `${name}: all replicas have left after ${seconds(leftS)}, half are back ${seconds(halfBackS)} after its end, nine of ten ${seconds(mostBackS)} and all ${seconds(backS)}; calls meanwhile ${percent(restCalls)} of the usual, busiest second afterwards ${herd.toFixed(2)} of the usual`,
    `${name}: shares by price before it ${shares.join(", ")}; of a replica +- ${percent(balance.deviation)}, by chance ${percent(balance.chance)}`,
  ];
}
