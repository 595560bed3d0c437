/** Policies superseded by a change. */
import { beforeEach, expect, test } from "@jest/globals";
import { PolicyCache } from "@sluice/proto/lib/policy/cache.js";

let cache: PolicyCache<string>;
const isSuperseded = (name: string): boolean => cache.get(name)?.supersededAt !== undefined;

beforeEach(() => {
  cache = new PolicyCache();
  for (const generation of [4n, 5n, 6n]) {
    cache.store(`read at ${generation}`, { value: "policy", generation, filledAt: 0, requestedAt: 0 });
  }
});

test.each<[string, () => void]>([
  ["of these", () => cache.supersede(["read at 4", "read at 5", "read at 6", "never read"], 5n)],
  ["of everything", () => cache.supersedeAll(5n)],
])("a change %s supersedes policies read before it, and none that includes it", (_, change) => {
  change();
  expect([4, 5, 6].map((generation) => isSuperseded(`read at ${generation}`))).toEqual([true, false, false]);
  expect(cache.get("never read")).toBeUndefined();
});

test("a policy lookup that began before a change is not kept after it", () => {
  cache.supersede(["read at 6"], 7n);
  cache.store("read at 6", { value: "revoked", generation: 6n, filledAt: 1, requestedAt: 1 });
  expect(cache.get("read at 6")?.value).toBe("policy");
  expect(isSuperseded("read at 6")).toBe(true);
});
