/** What comes to a request while it is on its way: it is looked at as the request itself was, of which the rest is not looked at again. */
import type { InputItem, TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Layer, compose } from "../turn/turn.ts";

/** The items by themselves, for those who need to know nothing else of the request. */
export const alone = ({ models, stream, provider }: TurnRequest, input: readonly InputItem[]): TurnRequest => ({
  models,
  stream,
  ...(provider && { provider }),
  input,
  tools: [],
  include: [],
  outputModalities: [],
  echoUpstreamBody: false,
  serviceMetadata: false,
});

/**
 * Gives the items without what was redacted of them.
 * @throws Fault as the guards do
 */
export type Look = (items: readonly InputItem[], request: TurnRequest, scope: Scope) => Promise<readonly InputItem[]>;

/** @param guards layers that only rewrite or refuse */
export const lookedAt =
  (guards: readonly Layer[]): Look =>
  async (items, request, scope) => {
    let looked: readonly InputItem[] = items;
    const last = compose(guards, ({ input }) => {
      looked = input;
      return Promise.resolve(nothing);
    });
    await last(alone(request, items.map(unsaid)), scope);
    return looked.map((item, index) => (item["role"] === undefined ? item : { ...item, role: items[index]?.["role"] }));
  };

/** Beside whose words it is put does not make it theirs: rules for what users say do not read it. */
const unsaid = (item: InputItem): InputItem => (item["role"] === "user" ? { ...item, role: "developer" } : item);

const nothing = (async function* () {})();
