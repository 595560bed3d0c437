/** The conversation of a turn whose agent loop has stopped for calls of the client, so a later request can continue it. */
import type { InputItem } from "./request.ts";
import { StateKey } from "./turn-state.ts";

/** Items for the model's next request, without the outputs of the client's calls; empty while the loop runs. */
export const stoppedConversation = new StateKey<{ items: readonly InputItem[] }>(() => ({ items: [] }));
