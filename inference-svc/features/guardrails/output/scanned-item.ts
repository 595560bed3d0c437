/** An output item whose texts were already scanned. It is delivered unchanged, in its place among items still being scanned. */
import type { TurnEvent } from "../../../turn/turn.ts";

export class ScannedItem {
  readonly #ready: TurnEvent[] = [];
  readonly canBegin = true;
  readonly isWaiting = false;
  hasEnded = false;

  step(event: TurnEvent): undefined {
    this.#ready.push(event);
    this.hasEnded ||= event.type === "item.end";
  }

  /** Moves the events ready for delivery to the end of `list`. */
  moveTo(list: TurnEvent[]): void {
    for (const event of this.#ready) list.push(event);
    this.#ready.length = 0;
  }

  /** Always undefined: a scanned item is delivered to its end, and never cut. */
  cut(): undefined {
    return undefined;
  }
}
