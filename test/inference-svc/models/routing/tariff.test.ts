/** Cost of attempts, exact for every kind of token and fee. */
import { describe, expect, test } from "@jest/globals";
import { calculateCost, parseTariff } from "@sluice/inference-svc/models/routing/price/tariff.js";
import { type Cost, type Usage, sumUsage } from "@sluice/inference-svc/turn/usage.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import fc from "../../../support/properties.js";

const usageOf = (fields: Partial<Usage> = {}): Usage => ({
  inputTokens: 0,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  ...fields,
});

const noMedia = { images: 0, audios: 0, others: 0, pages: 0 };
const pricing = { prompt: "3", completion: "15", cache_read: "0.30", cache_write: "3.75", cache_write_1h: "6" };
const cost = (more: object, usage: Partial<Usage>, media: object = {}, outputImages = 0): Cost =>
  calculateCost(parseTariff({ ...pricing, ...more }), usageOf(usage), { ...noMedia, ...media }, outputImages);
const whole = ({ input, output, serverTools }: Cost): number => toDollars(input + output + serverTools);

describe("the price of tokens", () => {
  test.each<[string, Partial<Usage>, number]>([
    ["of the prompt", { inputTokens: 1_000 }, 0.003],
    ["of the answer, reasoning among them", { outputTokens: 1_000, reasoningTokens: 900 }, 0.015],
    ["read from a cache", { inputTokens: 1_000, cachedTokens: 900 }, 0.00057],
    ["written to a cache", { inputTokens: 1_000, cacheWriteTokens: 900 }, 0.003675],
    ["kept for an hour", { inputTokens: 1_000, cacheWriteTokens: 900, cacheWriteHourTokens: 400 }, 0.004575],
    ["read more often than sent", { inputTokens: 10, cachedTokens: 900, cacheWriteTokens: 5 }, 0.000003],
  ])("is charged for %s", (_, usage, expected) => {
    expect(whole(cost({}, usage))).toBe(expected);
  });

  test("makes no cost beyond the contract's range, not even summed over many attempts", () => {
    const most = cost({ prompt: "9".repeat(12), completion: "9".repeat(12) }, { inputTokens: 1e8, outputTokens: 1e8 });
    expect(whole(most)).toBe(200_000);
    const { input } = sumUsage(Array.from({ length: 100 }, () => ({ ...usageOf(), cost: most })))?.cost ?? most;
    expect(BigInt.asUintN(64, input)).toBe(100n * most.input);
  });

  test("is the usual one for cached tokens without a separate price, and that of five minutes for an hour", () => {
    const usage = { inputTokens: 100, cachedTokens: 40, cacheWriteTokens: 60, cacheWriteHourTokens: 60 };
    const plain = { cache_read: undefined, cache_write: undefined, cache_write_1h: undefined };
    expect(whole(cost(plain, usage))).toBe(0.0003);
    expect(whole(cost({ ...plain, cache_write: "5" }, usage))).toBe(0.00042);
  });

  test("is higher for the whole request above a threshold, by the highest one exceeded", () => {
    const above = [
      { input_tokens: 200_000, prompt: "6", completion: "22.50" },
      { input_tokens: 400_000, prompt: "9", completion: "30" },
    ];
    const of = (inputTokens: number) => whole(cost({ above }, { inputTokens, outputTokens: 1_000 }));
    expect([200_000, 200_001, 400_001].map(of)).toEqual([0.615, 1.222506, 3.630009]);
  });
});

test.each([
  ["that were read", { pages: 3 }, 0.006],
  ["that may be read, until the provider has counted them", {}, 0.02],
])("the pages %s are charged a fee", (_, usage, total) => {
  expect(whole(cost({ prompt: "0", page: "0.002" }, usage, { pages: 10 }))).toBe(total);
});

test("a bill has fees of the request, of images, sounds and searches", () => {
  const fees = { request: "0.005", image: "0.0012", image_output: "0.04", audio: "0.0001", web_search: "0.01" };
  const use = { outputTokens: 100, serverToolUse: { webSearchRequests: 2 } };
  expect(cost(fees, use, { images: 3, audios: 1 }, 2)).toEqual({
    input: 8_700_000_000n,
    output: 81_500_000_000n,
    serverTools: 20_000_000_000n,
  });
});

const decimal = fc
  .tuple(fc.nat(999), fc.stringMatching(/^\d{1,12}$/))
  .map(([integer, fraction]) => `${integer}.${fraction}`);
/** Costs in 10^-12 USD. */
const exactly = (price: string): bigint => {
  const [integer = "", fraction = ""] = price.split(".");
  return BigInt(integer) * 10n ** 12n + BigInt(fraction.padEnd(12, "0"));
};

test("no amount of a bill is off by more than half of 10^-12 USD, and sums are exact", () => {
  const tokens = fc.nat(100_000_000);
  fc.assert(
    fc.property(decimal, decimal, tokens, tokens, (prompt, completion, inputTokens, outputTokens) => {
      const tariff = parseTariff({ prompt, completion });
      const usage = usageOf({ inputTokens, outputTokens });
      const priced = { ...usage, cost: calculateCost(tariff, usage, noMedia, 0) };
      const off = priced.cost.input * 1_000_000n - exactly(prompt) * BigInt(inputTokens);
      expect(off <= 500_000n && off >= -500_000n).toBe(true);
      const outputOff = priced.cost.output * 1_000_000n - exactly(completion) * BigInt(outputTokens);
      expect(outputOff <= 500_000n && outputOff >= -500_000n).toBe(true);
      const { input, output } = priced.cost;
      expect(sumUsage([priced, undefined, priced])?.cost).toEqual({
        input: 2n * input,
        output: 2n * output,
        serverTools: 0n,
      });
    }),
  );
});

test("the cost of a sum is known only if the costs of all parts are known", () => {
  const known = usageOf({ inputTokens: 1, cost: { input: 1n, output: 2n, serverTools: 0n } });
  const sum = sumUsage([known, usageOf({ outputTokens: 2, estimated: true, serverToolUse: { webSearchRequests: 1 } })]);
  expect(sum).toEqual(
    usageOf({ inputTokens: 1, outputTokens: 2, estimated: true, serverToolUse: { webSearchRequests: 1 } }),
  );
  expect(sumUsage([undefined])).toBeUndefined();
});

test.each([
  [0n, 0],
  [1n, 1e-12],
  [9_500_000n, 0.0000095],
  [300_000_000_000n, 0.3],
  [1_234_567_890_123_456n, 1234.567890123456],
])("a cost of %s pico-dollars is shown as %d", (pico, shown) => {
  expect(toDollars(pico)).toBe(shown);
});
