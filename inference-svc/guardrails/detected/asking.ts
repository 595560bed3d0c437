/** Looking that somebody else does: what is pushed is decided once it was asked about. */
import type { Found, Scan } from "@sluice/proto/runtime/pattern/finder.js";

export interface AskingScan extends Scan {
  /**
   * Asks where there is enough to ask about.
   * @param over the text is: all of it is decided then, and only afterwards may the scan be ended
   * @throws NoAnswer; Fault when the turn is over
   */
  ask(over: boolean): Promise<Found>;
}

export const isAsking = (scan: Scan): scan is AskingScan => "ask" in scan;
