/** Promises created in this process between two calls. */
import { createHook } from "node:async_hooks";
import { type CodePosition, AmountsByLabel, labelOf } from "./labels.ts";
import { sourceOf } from "./sources.ts";

const stackDepth = 30;
/** Matches the functions on top of every stack: the hook, and Node's code that calls it. */
const ofTheHook = /bench\/counts\/promises\.js$|^node:internal\/(async_hooks|promise_hooks)/;

export class Promises {
  #amount = 0;
  #tally: AmountsByLabel | undefined;
  readonly #hook = createHook({
    init: (_id, type) => {
      if (type !== "PROMISE") return;
      this.#amount++;
      this.#tally?.add(labelOf(stackHere()), 1);
    },
  });

  /** @param places whether to record the place of each creation, which is slow */
  start(places: boolean): void {
    this.#amount = 0;
    this.#tally = places ? new AmountsByLabel() : undefined;
    this.#hook.enable();
  }

  stop(): { readonly amount: number; readonly tally: AmountsByLabel | undefined } {
    this.#hook.disable();
    return { amount: this.#amount, tally: this.#tally };
  }
}

function stackHere(): CodePosition[] {
  const { stackTraceLimit } = Error;
  const prepare: unknown = Reflect.get(Error, "prepareStackTrace");
  let places: CodePosition[] = [];
  Error.stackTraceLimit = stackDepth;
  Error.prepareStackTrace = (_, sites) => {
    places = sites.map((site) =>
      sourceOf({
        name: site.getFunctionName() ?? "",
        file: site.getFileName() ?? "",
        line: site.getLineNumber() ?? 0,
        column: site.getColumnNumber() ?? 0,
      }),
    );
    return "";
  };
  // V8 formats a stack when it is first read, by the function set above.
  void new Error("not thrown").stack;
  Error.stackTraceLimit = stackTraceLimit;
  Reflect.set(Error, "prepareStackTrace", prepare);
  return places.filter(({ file }) => !ofTheHook.test(file));
}
