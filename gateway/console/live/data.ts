/** Open turns, sent by the gateway once a second. */
import { useEffect, useState } from "preact/hooks";
import { apiBase, sendRequest } from "../api/client.ts";
import { endSession } from "../api/session.ts";

export interface OpenTurn {
  /** Generation id. */
  readonly id: string;
  readonly key_hash: string;
  readonly door: string;
  readonly requested_model: string;
  /** Model of the turn; empty before a model answers. */
  readonly model: string;
  /** Provider of the turn; empty before a provider answers. */
  readonly provider: string;
  readonly user: string;
  readonly open_ms: number;
  readonly first_ms: number | null;
  /** UTF-16 units delivered so far. */
  readonly text_units: number;
  readonly attempts: number;
}

interface Snapshot {
  readonly total: number;
  /** Number of inference processes without an answer. */
  readonly silent: number;
  readonly turns: readonly OpenTurn[];
}

/** A turn with its output of the last second. */
export interface WatchedTurn extends OpenTurn {
  /** UTF-16 units delivered in the last second; undefined in the first snapshot of the turn. */
  readonly rate: number | undefined;
}

export interface Watch {
  readonly total: number;
  readonly silent: number;
  readonly turns: readonly WatchedTurn[];
  /** Turns ended during the watch, latest first. */
  readonly ended: readonly OpenTurn[];
}

const maxEnded = 50;

/** Watches the open turns. `watch` is undefined until the first snapshot; `isCut` is true while the connection fails. */
export function useLive(): { readonly watch: Watch | undefined; readonly isCut: boolean } {
  const [watch, setWatch] = useState<Watch>();
  const [isCut, setCut] = useState(false);
  useEffect(() => {
    const source = new EventSource(`${apiBase}/live`);
    source.addEventListener("message", ({ data }) => {
      setCut(false);
      setWatch((known) => next(known, JSON.parse(data as string) as Snapshot));
    });
    source.addEventListener("error", () => setCut(true));
    source.addEventListener("over", () => {
      source.close();
      endSession();
    });
    return () => source.close();
  }, []);
  return { watch, isCut };
}

function next(known: Watch | undefined, { total, silent, turns }: Snapshot): Watch {
  const before = new Map(known?.turns.map((turn) => [turn.id, turn]));
  const watched = turns.map((turn) => ({ ...turn, rate: rateOf(before.get(turn.id), turn) }));
  const open = new Set(turns.map(({ id }) => id));
  // Only a complete snapshot shows that a turn has ended: with too many turns or a process that did not answer, the turn may still be open.
  const isWhole = silent === 0 && total === turns.length;
  const gone = isWhole ? [...before.values()].filter(({ id }) => !open.has(id)) : [];
  return { total, silent, turns: watched, ended: [...gone, ...(known?.ended ?? [])].slice(0, maxEnded) };
}

function rateOf(before: OpenTurn | undefined, now: OpenTurn): number | undefined {
  if (!before || now.open_ms <= before.open_ms) return undefined;
  return ((now.text_units - before.text_units) * 1_000) / (now.open_ms - before.open_ms);
}

/** @throws ApiError 404 if the turn has already ended */
export const endTurn = (id: string): Promise<void> => sendRequest("DELETE", `/live/${encodeURIComponent(id)}`);
