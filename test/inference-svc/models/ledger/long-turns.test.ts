/** Amounts reserved for the further calls of a turn: they count only against calls of other turns, and end with the turn. */
import { expect, test } from "@jest/globals";
import { LongTurns } from "@sluice/inference-svc/models/ledger/long-turns.js";
import { TagAccounts } from "@sluice/inference-svc/models/ledger/tag-accounts.js";

const owner = { keyHash: "key", workspaceId: "workspace" };
const decided = (admitted: boolean) => Promise.resolve({ admitted });

test("twice the amount of a turn's first call is kept free in a budget until the turn ends", async () => {
  const turns = new LongTurns(new TagAccounts());
  const end = turns.begin("one", owner);
  const turn = turns.find("one");
  if (!turn) throw new Error("no turn");
  expect(turns.besides("key", 5n, turn)).toBe(0n);
  const asked = turns.requestCall(turn, 5n, decided(true));
  // The call counts before the answer, because other calls are decided meanwhile.
  expect(turns.besides("key", 1n, undefined)).toBe(10n);
  await asked;
  turns.begin("other", owner);
  expect(turns.besides("workspace", 3n, turns.find("other"))).toBe(16n);
  expect(turns.besides("key", 5n, turn)).toBe(0n);
  expect(turns.besides("another", 1n, undefined)).toBe(0n);
  end();
  expect(turns.besides("key", 1n, undefined)).toBe(0n);
});

test.each([[[true, false]], [[false, false]], [[false, true]]])(
  "turns with several concurrent calls leave no reservation after their end, the calls admitted: %p",
  async (admitted) => {
    const turns = new LongTurns(new TagAccounts());
    const end = turns.begin("panel", owner);
    const turn = turns.find("panel");
    if (!turn) throw new Error("no turn");
    await Promise.all(admitted.map((each) => turns.requestCall(turn, 5n, decided(each))));
    expect(turns.besides("key", 1n, undefined)).toBe(admitted.includes(true) ? 10n : 0n);
    const late = turns.requestCall(turn, 5n, decided(false));
    end();
    await late;
    await turns.requestCall(turn, 5n, decided(true));
    expect(turns.besides("key", 1n, undefined)).toBe(0n);
  },
);
