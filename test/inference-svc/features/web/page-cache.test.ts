/** The cache of fetched pages: its lifetime and its limits. */
import { expect, test } from "@jest/globals";
import { PageCache } from "@sluice/inference-svc/features/web/page-cache.js";

const page = (length: number) => ({
  url: "",
  title: "",
  text: "x".repeat(length),
  status: 200,
  isCut: false,
});

test("a page is cached for five minutes from its reading", () => {
  let now = 0;
  const cache = new PageCache(() => now);
  cache.keep("a", page(1));
  now = 299_999;
  expect(cache.find("a")?.text).toBe("x");
  now = 300_000;
  expect(cache.find("a")).toBeUndefined();
});

test("the oldest pages leave a full cache, and a page that is too long is not cached", () => {
  const cache = new PageCache(() => 0);
  const most = 512 * 1024;
  const keys = Array.from({ length: 17 }, (_, index) => String.fromCodePoint(97 + index));
  for (const key of keys) cache.keep(key, page(most - 1));
  expect(keys.filter((key) => cache.find(key) === undefined)).toEqual(["a"]);
  cache.keep("b", page(most));
  expect(cache.find("b")).toBeUndefined();
  cache.keep("a", page(1));
  expect(keys.filter((key) => cache.find(key) === undefined)).toEqual(["b"]);
});
