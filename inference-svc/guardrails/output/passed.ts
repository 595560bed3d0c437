/** An output item that was looked at before: it keeps its place among those whose texts are still read. */
import type { TurnEvent } from "../../turn/turn.ts";

export class PassedItem {
  #ready: TurnEvent[] = [];
  readonly shown = true;
  readonly waits = false;
  ended = false;

  step(event: TurnEvent): void {
    this.#ready.push(event);
    this.ended ||= event.type === "item.end";
  }

  take(): readonly TurnEvent[] {
    const ready = this.#ready;
    this.#ready = [];
    return ready;
  }

  /** Never an item to end early: one that was looked at before goes out whole. */
  cut(): undefined {
    return undefined;
  }
}
