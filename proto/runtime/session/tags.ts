/** Fields of the messages that every event travels in, as they stand before a value: number times eight, and the form of the value. */

/** Varints. */
const number = (field: number): number => field << 3;
/** With a length before it: messages, texts and bytes. */
const counted = (field: number): number => (field << 3) | 2;

export const response = { frames: counted(1), draining: number(3) } as const;
export const frame = { turn: number(1), batch: counted(2), fault: counted(3), last: number(4) } as const;
export const batch = { events: counted(1), cost: number(2) } as const;
export const textDelta = { index: number(1), part: number(2), delta: counted(3), logprobsJson: counted(4) } as const;
export const argumentsDelta = { index: number(1), delta: counted(2) } as const;

/** Of a TurnEvent. */
export const deltaTags = {
  textDelta: counted(3),
  refusalDelta: counted(4),
  reasoningDelta: counted(5),
  summaryDelta: counted(6),
} as const;
export const turnEvents = { ...deltaTags, argumentsDelta: counted(7) } as const;
