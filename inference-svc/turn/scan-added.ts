/** Scans items added to a running request, such as web pages and tool outputs, with the input guardrails. */
import { WholeAnswer, readToEnd } from "./answer-kinds.ts";
import { bareRequest } from "./bare-request.ts";
import type { InputItem, TurnRequest } from "./request.ts";
import type { Scope } from "./scope.ts";
import { type Layer, compose } from "./turn.ts";

/** A request with only these items, and with the provider preferences of the whole request. */
export const requestWithItems = ({ models, stream, provider }: TurnRequest, input: readonly InputItem[]): TurnRequest =>
  bareRequest({ models, stream, input, ...(provider && { provider }) });

/** Scans the items, and returns them redacted. @throws Fault when a guardrail blocks */
export type AddedScanner = (
  items: readonly InputItem[],
  request: TurnRequest,
  scope: Scope,
) => Promise<readonly InputItem[]>;

/** @param guards layers of input guardrails, which only rewrite or refuse a request */
export const addedItemsScanner =
  (guards: readonly Layer[]): AddedScanner =>
  async (items, request, scope) => {
    let scanned: readonly InputItem[] = items;
    const last = compose(guards, ({ input }) => {
      scanned = input;
      return new WholeAnswer([]);
    });
    await readToEnd(last(requestWithItems(request, items.map(asDeveloper)), scope));
    return scanned.map((item, index) =>
      item["role"] === undefined ? item : { ...item, role: items[index]?.["role"] },
    );
  };

/** The item with the role developer instead of user: rules with `user_only` then skip web pages and tool outputs. */
const asDeveloper = (item: InputItem): InputItem => (item["role"] === "user" ? { ...item, role: "developer" } : item);
