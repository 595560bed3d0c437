/** Failed sign-ins: ten a minute and address, in little memory. */
import { expect, test } from "@jest/globals";
import { SignInLimiter } from "@sluice/gateway/console-api/sign-in-limiter.js";

type Request = Parameters<SignInLimiter["enter"]>[0];

const from = (remoteAddress: string): Request => ({ socket: { remoteAddress } }) as Request;

/** Number of attempts that were let in. */
function tryOften(limiter: SignInLimiter, times: number, address = "192.0.2.1"): number {
  let admitted = 0;
  for (let n = 0; n < times; n++) {
    try {
      limiter.enter(from(address));
      admitted++;
    } catch {
      // Refused.
    }
  }
  return admitted;
}

test("ten thousand guesses of an address in a minute are ten, and ten more in the next", () => {
  let now = 0;
  const limiter = new SignInLimiter(() => now);
  expect(tryOften(limiter, 10_000)).toBe(10);
  now = 59_999;
  expect(tryOften(limiter, 10)).toBe(0);
  now = 60_000;
  expect(tryOften(limiter, 10_000)).toBe(10);
});

test("a client counts once for all addresses of its network", () => {
  const limiter = new SignInLimiter(() => 0);
  expect(tryOften(limiter, 6, "2001:db8::1") + tryOften(limiter, 6, "2001:db8::2")).toBe(10);
  expect(tryOften(limiter, 1, "2001:db8:0:1::1")).toBe(1);
});

test("an attempt that succeeds does not count", () => {
  const limiter = new SignInLimiter(() => 0);
  for (let n = 0; n < 100; n++) limiter.enter(from("192.0.2.1"))();
  expect(tryOften(limiter, 20)).toBe(10);
});

test("many addresses do not fill the memory", () => {
  const limiter = new SignInLimiter(() => 0);
  for (let n = 0; n < 20_000; n++) limiter.enter(from(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`));
  expect(limiter.addresses).toBe(4_096);
});
