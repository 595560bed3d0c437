/** Counts the tokens of a turn while its events pass. */
import type { TurnListener } from "../lane/turn-listener.ts";
import type { TokenMeter } from "./meter.ts";

export const withTokenMeter = (meter: TokenMeter, listener: TurnListener): TurnListener => ({
  accepted: () => listener.accepted?.(),
  events: (events, cost) => {
    meter.note(events);
    listener.events(events, cost);
  },
  ended: () => listener.ended(),
  failed: (fault, accepted) => listener.failed(fault, accepted),
});
