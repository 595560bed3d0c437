/** Endpoints of sessions when the configuration file loses an endpoint and gets it back. */
import { EndpointRecords } from "@sluice/inference-svc/models/routing/records/endpoint-record.js";
import { Router } from "@sluice/inference-svc/models/routing/choose/router.js";
import { buildCatalog, newCaller, newRequest, newTurnScope, routerDeps } from "./fleet.ts";

export interface SessionFigures {
  readonly sessions: number;
  /** Share of the sessions that were at the removed endpoint. */
  readonly ofLeaving: number;
  /** Share of the sessions that the removal moved. */
  readonly moved: number;
  /** Number of sessions of other endpoints that moved, at the removal and at the return. */
  readonly othersMoved: number;
  /** Number of sessions that two replicas sent to different endpoints. */
  readonly disagreements: number;
  /** Number of sessions that did not return to their endpoint when it came back. */
  readonly notBack: number;
}

const leaving = 1;

export function simulateSessions(sessions: number): SessionFigures {
  const before = placesOf(sessions, [0, 1, 2]);
  const elsewhere = placesOf(sessions, [0, 1, 2]);
  const without = placesOf(sessions, [0, 2]);
  const after = placesOf(sessions, [0, 1, 2]);
  const count = (matches: (session: number) => boolean): number =>
    before.reduce((sum, _, session) => sum + Number(matches(session)), 0);
  const isLeaving = (session: number) => before[session] === `provider-${leaving}`;
  return {
    sessions,
    ofLeaving: count(isLeaving) / sessions,
    moved: count((session) => before[session] !== without[session]) / sessions,
    othersMoved: count((session) => !isLeaving(session) && before[session] !== without[session]),
    disagreements: count((session) => before[session] !== elsewhere[session]),
    notBack: count((session) => before[session] !== after[session]),
  };
}

/** The first endpoint of each session at a newly started replica. */
function placesOf(sessions: number, endpoints: readonly number[]): readonly string[] {
  const router = new Router({ ...routerDeps, catalog: buildCatalog(endpoints), records: new EndpointRecords() });
  return Array.from({ length: sessions }, (_, key) => {
    const [first] = router.route(newRequest(`session-${key}`, "question"), newTurnScope(newCaller(key)));
    return first?.provider ?? "none";
  });
}
