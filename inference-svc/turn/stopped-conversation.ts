/** The conversation of a turn whose agent loop stopped for calls of the client, to be continued in a later request. */
import type { InputItem } from "./request.ts";
import { StateKey } from "./turn-state.ts";

/** The items for the model's next request, without the outputs of the client's calls; empty while the loop runs. */
export const stoppedConversation = new StateKey<{ items: readonly InputItem[] }>(() => ({ items: [] }));
