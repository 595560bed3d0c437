/** Failed sign-ins: ten a minute for an address together with the prefix of a key, and sixty for either of them, in little memory. */
import { expect, test } from "@jest/globals";
import { SignInLimiter } from "@sluice/gateway/admin/console-api/sign-in-limiter.js";

/** Number of wrong keys within the limit. */
async function fail(limiter: SignInLimiter, times: number, address = "192.0.2.1", key = "mk-sl-abcd"): Promise<number> {
  const noted = await Promise.all(Array.from({ length: times }, () => limiter.note(address, key)));
  return noted.filter((fault) => fault === undefined).length;
}

test("of a thousand sign-in guesses from an address, ten a minute are checked", async () => {
  let now = 0;
  const limiter = new SignInLimiter(() => now);
  expect(await fail(limiter, 1_000)).toBe(10);
  now = 59_999;
  expect(await fail(limiter, 10)).toBe(0);
  now = 60_000;
  expect(await fail(limiter, 1_000)).toBe(10);
});

test("a client has one sign-in limit for all addresses of its network", async () => {
  const limiter = new SignInLimiter(() => 0);
  expect((await fail(limiter, 6, "2001:db8::1")) + (await fail(limiter, 6, "2001:db8::2"))).toBe(10);
  expect(await fail(limiter, 1, "2001:db8:0:1::1")).toBe(1);
});

test("wrong sign-in keys of one prefix do not limit those of another", async () => {
  const limiter = new SignInLimiter(() => 0);
  expect(await fail(limiter, 20)).toBe(10);
  expect(await fail(limiter, 1, "192.0.2.1", "mk-sl-other")).toBe(1);
});

test("an address may try sixty wrong sign-in keys a minute, whatever their prefixes", async () => {
  const limiter = new SignInLimiter(() => 0);
  const keys = Array.from({ length: 100 }, (_, n) => fail(limiter, 1, "192.0.2.1", `mk-sl-${n}`));
  expect((await Promise.all(keys)).filter((within) => within === 1)).toHaveLength(60);
  expect(await fail(limiter, 1, "192.0.2.2", "mk-sl-new")).toBe(1);
});

test("a prefix allows sixty wrong sign-in keys a minute, from all addresses together", async () => {
  const limiter = new SignInLimiter(() => 0);
  const keys = Array.from({ length: 100 }, (_, n) => fail(limiter, 1, `192.0.2.${n}`));
  expect((await Promise.all(keys)).filter((within) => within === 1)).toHaveLength(60);
  expect(await fail(limiter, 1, "192.0.2.200", "mk-sl-other")).toBe(1);
});

test("many addresses and prefixes in the sign-in limiter take bounded memory", async () => {
  const limiter = new SignInLimiter(() => 0);
  for (let n = 0; n < 20_000; n++) {
    await limiter.note(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`, `mk-sl-${n}`);
  }
  expect(limiter.size).toBe(3 * 4_096);
});
