import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { undecidedComplaints } from "./complaints.ts";
import { smallExchanges } from "./kinds.ts";
import { Replay } from "./replay.ts";

let replay: Replay;

beforeAll(async () => {
  replay = await Replay.start(smallExchanges);
});
afterAll(() => replay?.stop());

test.each(smallExchanges.map((exchange) => [exchange.format, exchange.id, exchange] as const))(
  "the recorded exchange in %s has only accepted differences: %s",
  async (_, __, exchange) => {
    expect(undecidedComplaints(await replay.run([exchange]))).toEqual([]);
  },
);
